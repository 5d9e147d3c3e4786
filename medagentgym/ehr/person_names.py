"""Made-up names for patients, whose records hold none."""

from __future__ import annotations


def _names(text: str) -> list[str]:
    return text.split()


_GIVEN = {
    "F": _names(
        "Ada Agnes Alma Amelia Anita Astrid Beatrice Bella Brenda Carla Cecilia Clara Dagmar Delia Dora Edith Elaine Elsa Esther Eva "
        "Fiona Flora Freda Gerda Greta Hanna Harriet Hazel Hilda Ida Ingrid Irene Iris Judith Julia Karin Klara Laura Lena Lydia "
        "Mabel Magda Marta Mina Nadia Nora Olga Paula Petra Rita Rosa Selma Sofia Stella Tilda Ursula Vera Viola Wanda Yvonne"
    ),
    "M": _names(
        "Adam Albert Alfred Anton Arthur Axel Bernard Boris Bruno Carl Cedric Conrad Cyril David Dennis Edgar Edwin Emil Ernest Felix "
        "Frank Gerald Gilbert Gordon Gregor Harold Hector Henry Hugo Ivan Jacob Jasper Joel Julian Kurt Leo Leonard Lionel Lucas Marcus "
        "Martin Maurice Max Milton Norman Oliver Oscar Otto Percy Philip Ralph Roland Rupert Simon Stefan Theodor Thomas Victor Walter Wilfred"
    ),
}
_SURNAMES = _names(
    "Abbott Acker Alder Archer Ashby Baines Banner Barlow Beck Bellamy Benson Birch Bishop Blackwood Bolton Bowman Bramley Brandt Brewer "
    "Briggs Calder Carver Chandler Clayton Cooper Corbett Crane Dalton Dawson Denver Drake Dunbar Easton Ellery Elwood Fairley Farrow Fenton "
    "Fletcher Forrest Galloway Garner Gibbs Glover Granger Grove Hadley Hale Hammond Harlow Hawkins Holbrook Huxley Ingram Irving Jarvis "
    "Keating Kendall Kirby Lambert Langley Lawson Linden Lockwood Marlow Marsh Mercer Milner Morland Nash Norwood Oakley Ogden Osborne "
    "Palmer Parrish Pembroke Porter Prescott Quincy Radcliffe Ramsey Redmond Rowley Sawyer Sheldon Sinclair Stanton Tanner Thorne Tucker "
    "Underhill Vaughan Wade Walden Warner Webster Whitlock Yates Yorke"
)
_INITIALS = "ABCDEFGHJKLMNOPRSTVW"
_DIFFERENT = 60 * len(_SURNAMES) * len(_INITIALS)
_STRIDE = 48_271
"""A prime that shares no factor with the number of names, so that neighbouring numbers get names that do not resemble each other."""


def person_name(subject_id: int, gender: str | None) -> str:
    """The made-up name of a patient, such as `Vera K. Holbrook`. It depends on the arguments alone.

    120,000 consecutive numbers get as many different names, so no two patients of MIMIC-III share one.
    """
    given = _GIVEN["M" if gender == "M" else "F"]
    rest, first = divmod(subject_id * _STRIDE % _DIFFERENT, len(given))
    initial, last = divmod(rest, len(_SURNAMES))
    return f"{given[first]} {_INITIALS[initial]}. {_SURNAMES[last]}"
