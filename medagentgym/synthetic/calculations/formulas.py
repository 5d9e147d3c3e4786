"""Formulas of clinical calculators, each with its source. Concentrations, unless a docstring says otherwise, are in the units customary in the US."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Literal

Sex = Literal["male", "female"]

CENTIMETRES_AN_INCH = 2.54
NORMAL_ANION_GAP = 12.0
NORMAL_BICARBONATE = 24.0
NORMAL_ALBUMIN = 4.0

# --- body -------------------------------------------------------------------------------------------------------------------------------------------


def mean_arterial_pressure(systolic: float, diastolic: float) -> float:
    """mmHg, from mmHg. Brzezinski, W. A., Blood pressure, in: Walker et al. (eds.), Clinical Methods, 3rd edition, 1990, chapter 16."""
    return (systolic + 2 * diastolic) / 3


def body_mass_index(weight: float, height: float) -> float:
    """kg/m², from kg and cm. World Health Organization, Technical Report Series 894, 2000."""
    return weight / (height / 100) ** 2


def target_weight(index: float, height: float) -> float:
    """kg that give a body mass index in kg/m², from the index and cm. World Health Organization, Technical Report Series 894, 2000."""
    return index * (height / 100) ** 2


def body_surface_area(weight: float, height: float) -> float:
    """m², from kg and cm. Mosteller, R. D., N. Engl. J. Med. 317, 1098, 1987."""
    return math.sqrt(weight * height / 3600)


def ideal_body_weight(sex: Sex, height: float) -> float:
    """kg, from cm. Devine, B. J., Drug Intell. Clin. Pharm. 8, 650-655, 1974."""
    return (50.0 if sex == "male" else 45.5) + 2.3 * (height / CENTIMETRES_AN_INCH - 60)


def adjusted_body_weight(sex: Sex, weight: float, height: float) -> float:
    """kg, from kg and cm. Bauer, L. A., et al., Eur. J. Clin. Pharmacol. 24, 643-647, 1983."""
    ideal = ideal_body_weight(sex, height)
    return ideal + 0.4 * (weight - ideal)


def maintenance_fluids(weight: float) -> float:
    """mL/h, from kg: 4, 2 and 1 mL/kg/h. Holliday, M. A., and Segar, W. E., Pediatrics 19, 823-832, 1957."""
    return 4 * min(weight, 10) + 2 * min(max(weight - 10, 0), 10) + max(weight - 20, 0)


# --- heart ------------------------------------------------------------------------------------------------------------------------------------------


def qtc_bazett(interval: float, rate: float) -> float:
    """ms, from ms and beats/min. Bazett, H. C., Heart 7, 353-370, 1920."""
    return interval / math.sqrt(60 / rate)


def qtc_fridericia(interval: float, rate: float) -> float:
    """ms, from ms and beats/min. Fridericia, L. S., Acta Med. Scand. 53, 469-486, 1920."""
    return interval / math.cbrt(60 / rate)


def qtc_framingham(interval: float, rate: float) -> float:
    """ms, from ms and beats/min. Sagie, A., et al., Am. J. Cardiol. 70, 797-801, 1992."""
    return interval + 154 * (1 - 60 / rate)


def qtc_hodges(interval: float, rate: float) -> float:
    """ms, from ms and beats/min. Hodges, M., Salerno, D., and Erlien, D., J. Am. Coll. Cardiol. 1, 694, 1983."""
    return interval + 1.75 * (rate - 60)


def qtc_rautaharju(interval: float, rate: float) -> float:
    """ms, from ms and beats/min. Rautaharju, P. M., Warren, J. W., and Calhoun, H. P., J. Electrocardiol. 23, 111-117, 1990."""
    return interval * (120 + rate) / 180


# --- kidney, water and salts ------------------------------------------------------------------------------------------------------------------------


def creatinine_clearance(sex: Sex, age: float, weight: float, height: float, creatinine: float) -> float:
    """mL/min, from years, kg, cm and mg/dL. Cockcroft, D. W., and Gault, M. H., Nephron 16, 31-41, 1976.

    The weight is chosen by body mass index as in Winter, M. A., Guhr, K. N., and Berg, G. M., Pharmacotherapy 32, 604-612, 2012: the actual one of
    underweight patients, the ideal one of patients of normal weight (the actual one where that is less), the adjusted one of overweight patients.
    """
    index = body_mass_index(weight, height)
    if index >= 25:
        weight = adjusted_body_weight(sex, weight, height)
    elif index >= 18.5:
        weight = min(weight, ideal_body_weight(sex, height))
    return (140 - age) * weight * (1.0 if sex == "male" else 0.85) / (72 * creatinine)


def glomerular_filtration_rate(sex: Sex, age: float, creatinine: float) -> float:
    """mL/min/1.73 m², from years and mg/dL: CKD-EPI 2021. Inker, L. A., et al., N. Engl. J. Med. 385, 1737-1749, 2021."""
    kappa, alpha, factor = (0.9, -0.302, 1.0) if sex == "male" else (0.7, -0.241, 1.012)
    ratio = creatinine / kappa
    return float(142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.2 * 0.9938**age * factor)


def fractional_sodium_excretion(sodium: float, creatinine: float, urine_sodium: float, urine_creatinine: float) -> float:
    """Per cent, from mEq/L and mg/dL. Espinel, C. H., JAMA 236, 579-581, 1976."""
    return 100 * urine_sodium * creatinine / (sodium * urine_creatinine)


def free_water_deficit(sex: Sex, age: float, weight: float, sodium: float) -> float:
    """L, from years, kg and mEq/L, against 140 mEq/L. Adrogué, H. J., and Madias, N. E., N. Engl. J. Med. 342, 1493-1499, 2000.

    Body water is 0.6 of the weight of children and men, 0.5 of that of women and of men over 65, and 0.45 of that of women over 65.
    """
    if age < 18:
        water = 0.6
    elif age > 65:
        water = 0.5 if sex == "male" else 0.45
    else:
        water = 0.6 if sex == "male" else 0.5
    return water * weight * (sodium / 140 - 1)


def serum_osmolality(sodium: float, urea_nitrogen: float, glucose: float) -> float:
    """mOsm/kg, from mEq/L and mg/dL. Smithline, N., and Gardner, K. D., JAMA 236, 1594-1597, 1976."""
    return 2 * sodium + urea_nitrogen / 2.8 + glucose / 18


def corrected_sodium(sodium: float, glucose: float) -> float:
    """mEq/L, from mEq/L and mg/dL. Hillier, T. A., Abbott, R. D., and Barrett, E. J., Am. J. Med. 106, 399-403, 1999."""
    return sodium + 0.024 * (glucose - 100)


def corrected_calcium(calcium: float, albumin: float) -> float:
    """mg/dL, from mg/dL and g/dL. Payne, R. B., et al., Br. Med. J. 4, 643-646, 1973."""
    return calcium + 0.8 * (NORMAL_ALBUMIN - albumin)


def anion_gap(sodium: float, chloride: float, bicarbonate: float) -> float:
    """mEq/L, from mEq/L. Emmett, M., and Narins, R. G., Medicine 56, 38-54, 1977."""
    return sodium - (chloride + bicarbonate)


def albumin_corrected_anion_gap(sodium: float, chloride: float, bicarbonate: float, albumin: float) -> float:
    """mEq/L, from mEq/L and g/dL. Figge, J., et al., Crit. Care Med. 26, 1807-1810, 1998."""
    return anion_gap(sodium, chloride, bicarbonate) + 2.5 * (NORMAL_ALBUMIN - albumin)


def delta_gap(sodium: float, chloride: float, bicarbonate: float) -> float:
    """mEq/L above an anion gap of 12, from mEq/L. Wrenn, K., Ann. Emerg. Med. 19, 1310-1313, 1990."""
    return anion_gap(sodium, chloride, bicarbonate) - NORMAL_ANION_GAP


def delta_ratio(sodium: float, chloride: float, bicarbonate: float) -> float:
    """The delta gap by the fall of bicarbonate from 24, from mEq/L. Rastegar, A., J. Am. Soc. Nephrol. 18, 2429-2431, 2007."""
    return delta_gap(sodium, chloride, bicarbonate) / (NORMAL_BICARBONATE - bicarbonate)


# --- liver and metabolism ---------------------------------------------------------------------------------------------------------------------------


def fibrosis_4(age: float, ast: float, alt: float, platelets: float) -> float:
    """No unit, from years, U/L, U/L and 10⁹/L. Sterling, R. K., et al., Hepatology 43, 1317-1325, 2006."""
    return age * ast / (platelets * math.sqrt(alt))


def ldl_cholesterol(total: float, hdl: float, triglycerides: float) -> float:
    """mg/dL, from mg/dL. Friedewald, W. T., Levy, R. I., and Fredrickson, D. S., Clin. Chem. 18, 499-502, 1972."""
    return total - hdl - triglycerides / 5


def homa_ir(glucose: float, insulin: float) -> float:
    """No unit, from mg/dL and µIU/mL, both fasting. Matthews, D. R., et al., Diabetologia 28, 412-419, 1985."""
    return glucose * insulin / 405


# --- pregnancy --------------------------------------------------------------------------------------------------------------------------------------


def due_date(last_period: date, cycle: int) -> date:
    """280 days after the first day of the last period, later by what the cycle is longer than 28 days.

    Baskett, T. F., and Nagele, F., Naegele's rule: a reappraisal, BJOG 107, 1433-1435, 2000.
    """
    return last_period + timedelta(days=280 + cycle - 28)


def conception_date(last_period: date, cycle: int) -> date:
    """14 days before the next period was due. Lenton, E. A., Landgren, B. M., and Sexton, L., Br. J. Obstet. Gynaecol. 91, 685-689, 1984."""
    return last_period + timedelta(days=cycle - 14)


def gestational_age(last_period: date, today: date) -> tuple[int, int]:
    """Weeks and days since the first day of the last period. ACOG Committee Opinion 700, Obstet. Gynecol. 129, e150-e154, 2017."""
    return divmod((today - last_period).days, 7)


# --- scores -----------------------------------------------------------------------------------------------------------------------------------------


def curb_65(age: float, confusion: bool, urea_nitrogen: float, respiratory_rate: float, systolic: float, diastolic: float) -> int:
    """Points, from years, mg/dL, breaths/min and mmHg. Lim, W. S., et al., Thorax 58, 377-382, 2003."""
    return sum([confusion, urea_nitrogen > 19, respiratory_rate >= 30, systolic < 90 or diastolic <= 60, age >= 65])


def sirs_criteria(temperature: float, heart_rate: float, respiratory_rate: float, white_cells: float) -> int:
    """Criteria met, from °C, beats/min, breaths/min and 10⁹/L. Bone, R. C., et al., Chest 101, 1644-1655, 1992."""
    return sum([not 36 <= temperature <= 38, heart_rate > 90, respiratory_rate > 20, not 4 <= white_cells <= 12])


def cha2ds2_vasc(sex: Sex, age: float, heart_failure: bool, hypertension: bool, diabetes: bool, stroke: bool, vascular_disease: bool) -> int:
    """Points, from years. Lip, G. Y. H., et al., Chest 137, 263-272, 2010."""
    of_age = 2 if age >= 75 else 1 if age >= 65 else 0
    return of_age + (sex == "female") + heart_failure + hypertension + diabetes + 2 * stroke + vascular_disease


def centor(age: float, temperature: float, cough: bool, exudate: bool, nodes: bool) -> int:
    """Points, from years and °C, with the modification for age. McIsaac, W. J., et al., CMAJ 158, 75-83, 1998."""
    of_age = 1 if age < 15 else 0 if age < 45 else -1
    return of_age + (temperature > 38) + (not cough) + exudate + nodes
