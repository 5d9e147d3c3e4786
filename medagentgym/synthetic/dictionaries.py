"""What the codes mean: diagnoses, procedures, laboratory tests, bedside items, drugs, specimens and organisms.

Diagnosis and procedure codes are ICD-9-CM (without the point, as in MIMIC-III); laboratory and bedside item identifiers, units and LOINC codes are
those of MIMIC-III. Titles are our own wording in the style of the short and long ICD titles.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabTest:
    """A laboratory test: how it is named, and how its values are spread."""

    itemid: int
    label: str
    fluid: str
    category: str
    loinc: str
    unit: str | None
    """None: reported without a unit, as for the INR. The task's tables leave such rows out."""
    centre: float
    spread: float
    """Standard deviation, or that of the natural logarithm where `skewed`."""
    low: float
    high: float
    """Limits of normal, outside which a value is flagged."""
    decimals: int
    panel: str
    skewed: bool = False


LAB_TESTS: tuple[LabTest, ...] = (
    LabTest(50971, "Potassium", "Blood", "Chemistry", "2823-3", "mEq/L", 4.1, 0.5, 3.3, 5.1, 1, "chemistry"),
    LabTest(50983, "Sodium", "Blood", "Chemistry", "2951-2", "mEq/L", 139, 4.0, 133, 145, 0, "chemistry"),
    LabTest(50902, "Chloride", "Blood", "Chemistry", "2075-0", "mEq/L", 104, 5.0, 96, 108, 0, "chemistry"),
    LabTest(50882, "Bicarbonate", "Blood", "Chemistry", "1963-8", "mEq/L", 25, 3.6, 22, 32, 0, "chemistry"),
    LabTest(51006, "Urea Nitrogen", "Blood", "Chemistry", "3094-0", "mg/dL", 18, 0.4, 6, 20, 0, "chemistry", True),
    LabTest(50912, "Creatinine", "Blood", "Chemistry", "2160-0", "mg/dL", 0.9, 0.3, 0.4, 1.2, 1, "chemistry", True),
    LabTest(50931, "Glucose", "Blood", "Chemistry", "2345-7", "mg/dL", 116, 0.25, 70, 105, 0, "chemistry", True),
    LabTest(50868, "Anion Gap", "Blood", "Chemistry", "1863-0", "mEq/L", 13, 3.0, 8, 20, 0, "chemistry"),
    LabTest(50960, "Magnesium", "Blood", "Chemistry", "2601-3", "mg/dL", 2.0, 0.3, 1.6, 2.6, 1, "minerals"),
    LabTest(50893, "Calcium, Total", "Blood", "Chemistry", "2000-8", "mg/dL", 8.6, 0.6, 8.4, 10.3, 1, "minerals"),
    LabTest(50970, "Phosphate", "Blood", "Chemistry", "2777-1", "mg/dL", 3.4, 0.9, 2.7, 4.5, 1, "minerals"),
    LabTest(51221, "Hematocrit", "Blood", "Hematology", "4544-3", "%", 33, 4.5, 36, 48, 1, "blood count"),
    LabTest(51222, "Hemoglobin", "Blood", "Hematology", "718-7", "g/dL", 11.0, 1.6, 12, 16, 1, "blood count"),
    LabTest(51301, "White Blood Cells", "Blood", "Hematology", "804-5", "K/uL", 9.0, 0.35, 4, 11, 1, "blood count", True),
    LabTest(51265, "Platelet Count", "Blood", "Hematology", "777-3", "K/uL", 215, 0.35, 150, 440, 0, "blood count", True),
    LabTest(51279, "Red Blood Cells", "Blood", "Hematology", "789-8", "m/uL", 3.7, 0.5, 4.2, 5.4, 2, "blood count"),
    LabTest(51250, "MCV", "Blood", "Hematology", "787-2", "fL", 89, 5.5, 82, 98, 0, "blood count"),
    LabTest(51277, "RDW", "Blood", "Hematology", "788-0", "%", 14.8, 1.6, 10.5, 15.5, 1, "blood count"),
    LabTest(51274, "PT", "Blood", "Hematology", "5902-2", "sec", 14.0, 0.18, 9.4, 12.5, 1, "clotting", True),
    LabTest(51275, "PTT", "Blood", "Hematology", "3173-2", "sec", 33, 0.28, 25, 36.5, 1, "clotting", True),
    LabTest(51237, "INR(PT)", "Blood", "Hematology", "5895-7", None, 1.25, 0.2, 0.9, 1.1, 1, "clotting", True),
    LabTest(50820, "pH", "Blood", "Blood Gas", "11558-4", "units", 7.39, 0.06, 7.35, 7.45, 2, "blood gas"),
    LabTest(50821, "pO2", "Blood", "Blood Gas", "11556-8", "mm Hg", 105, 0.35, 85, 105, 0, "blood gas", True),
    LabTest(50818, "pCO2", "Blood", "Blood Gas", "11557-6", "mm Hg", 41, 7.0, 35, 45, 0, "blood gas"),
    LabTest(50802, "Base Excess", "Blood", "Blood Gas", "11555-0", "mEq/L", 0, 3.5, -3, 3, 0, "blood gas"),
    LabTest(50813, "Lactate", "Blood", "Blood Gas", "32693-4", "mmol/L", 1.6, 0.4, 0.5, 2.0, 1, "blood gas", True),
    LabTest(50808, "Free Calcium", "Blood", "Blood Gas", "1994-3", "mmol/L", 1.13, 0.07, 1.12, 1.32, 2, "blood gas"),
    LabTest(50885, "Bilirubin, Total", "Blood", "Chemistry", "1975-2", "mg/dL", 0.7, 0.4, 0.1, 1.5, 1, "liver", True),
    LabTest(50861, "Alanine Aminotransferase (ALT)", "Blood", "Chemistry", "1742-6", "IU/L", 28, 0.5, 1, 40, 0, "liver", True),
    LabTest(50878, "Asparate Aminotransferase (AST)", "Blood", "Chemistry", "1920-8", "IU/L", 32, 0.5, 1, 40, 0, "liver", True),
    LabTest(50863, "Alkaline Phosphatase", "Blood", "Chemistry", "6768-6", "IU/L", 85, 0.35, 39, 117, 0, "liver", True),
    LabTest(50862, "Albumin", "Blood", "Chemistry", "1751-7", "g/dL", 3.4, 0.5, 3.4, 4.8, 1, "liver"),
    LabTest(50956, "Lipase", "Blood", "Chemistry", "3040-3", "IU/L", 32, 0.5, 0, 60, 0, "pancreas", True),
    LabTest(50910, "Creatine Kinase (CK)", "Blood", "Chemistry", "2157-6", "IU/L", 90, 0.6, 26, 140, 0, "heart", True),
    LabTest(50911, "Creatine Kinase, MB Isoenzyme", "Blood", "Chemistry", "6773-6", "ng/mL", 4, 0.5, 0, 10, 0, "heart", True),
    LabTest(51003, "Troponin T", "Blood", "Chemistry", "6598-7", "ng/mL", 0.03, 0.6, 0, 0.01, 2, "heart", True),
    LabTest(50852, "% Hemoglobin A1c", "Blood", "Chemistry", "4548-4", "%", 5.9, 0.5, 4.8, 5.9, 1, "sugar"),
    LabTest(51498, "Specific Gravity", "Urine", "Hematology", "5811-5", None, 1.016, 0.006, 1.001, 1.035, 3, "urine"),
    LabTest(51097, "Potassium, Urine", "Urine", "Chemistry", "2828-2", "mEq/L", 38, 0.4, 0, 0, 0, "urine", True),
    LabTest(51100, "Sodium, Urine", "Urine", "Chemistry", "2955-3", "mEq/L", 52, 0.5, 0, 0, 0, "urine", True),
)

PANEL_CHANCES: dict[str, float] = {
    "chemistry": 0.95,
    "minerals": 0.7,
    "blood count": 0.85,
    "clotting": 0.4,
    "blood gas": 0.3,
    "liver": 0.25,
    "pancreas": 0.05,
    "heart": 0.1,
    "sugar": 0.05,
    "urine": 0.12,
}
"""How likely a blood draw includes a panel, where the condition does not say otherwise."""

UNUSED_LAB_TESTS: tuple[tuple[int, str, str, str, str], ...] = (
    (50800, "SPECIMEN TYPE", "BLOOD", "BLOOD GAS", ""),
    (50993, "Thyroid Stimulating Hormone", "Blood", "Chemistry", "3016-3"),
    (51010, "Vitamin B12", "Blood", "Chemistry", "2132-9"),
    (51508, "Urine Color", "Urine", "Hematology", "5778-6"),
)
"""Tests of the dictionary that nobody had: item, label, fluid, category, LOINC code."""

DIAGNOSES: dict[str, tuple[str, str]] = {
    "0389": ("Septicemia NOS", "Unspecified septicemia"),
    "99591": ("Sepsis", "Sepsis, without acute organ dysfunction"),
    "99592": ("Severe sepsis", "Severe sepsis, with acute organ dysfunction"),
    "78552": ("Septic shock", "Shock due to severe infection"),
    "486": ("Pneumonia, organism NOS", "Pneumonia, organism not specified"),
    "5070": ("Food/vomit pneumonitis", "Pneumonitis due to inhalation of food or vomit"),
    "51881": ("Acute respiratry failure", "Acute failure of respiration"),
    "49121": ("Obs chr bronc w(ac) exac", "Obstructive chronic bronchitis with acute exacerbation"),
    "496": ("Chr airway obstruct NEC", "Chronic obstruction of the airways, not elsewhere classified"),
    "49390": ("Asthma NOS", "Asthma of unspecified type, without mention of exacerbation"),
    "41071": ("Subendo infarct, initial", "Subendocardial infarction, first episode of care"),
    "41401": ("Crnry athrscl natve vssl", "Coronary atherosclerosis of a native coronary artery"),
    "4111": ("Intermed coronary synd", "Intermediate coronary syndrome"),
    "412": ("Old myocardial infarct", "Infarction of the myocardium in the past"),
    "4280": ("CHF NOS", "Congestive failure of the heart, unspecified"),
    "42833": ("Ac on chr diast hrt fail", "Acute on chronic diastolic heart failure"),
    "42731": ("Atrial fibrillation", "Fibrillation of the atria"),
    "4241": ("Aortic valve disorder", "Disorders of the aortic valve"),
    "4240": ("Mitral valve disorder", "Disorders of the mitral valve"),
    "41519": ("Pulm embol/infarct NEC", "Other pulmonary embolism and infarction"),
    "45341": ("Ac DVT/emb prox low ext", "Acute venous embolism and thrombosis of deep vessels of the proximal lower limb"),
    "4019": ("Hypertension NOS", "Essential hypertension, unspecified"),
    "40390": ("Hy kid NOS w cr kid I-IV", "Hypertensive chronic kidney disease, stage one to four or unspecified"),
    "2724": ("Hyperlipidemia NEC/NOS", "Other and unspecified hyperlipidemia"),
    "2720": ("Pure hypercholesterolem", "Pure hypercholesterolemia"),
    "25000": ("DMII wo cmp nt st uncntr", "Type two diabetes without complication, not stated as uncontrolled"),
    "25010": ("DMII keto nt st uncntrld", "Type two diabetes with ketoacidosis, not stated as uncontrolled"),
    "25013": ("DMI ketoacd uncontrold", "Type one diabetes with ketoacidosis, uncontrolled"),
    "2449": ("Hypothyroidism NOS", "Acquired hypothyroidism, unspecified"),
    "27800": ("Obesity NOS", "Obesity, unspecified"),
    "2761": ("Hyposmolality", "Hyposmolality and/or hyponatremia"),
    "2767": ("Hyperpotassemia", "Excess of potassium in the blood"),
    "2762": ("Acidosis", "Acidosis of any cause"),
    "5849": ("Acute kidney failure NOS", "Acute failure of the kidney, unspecified"),
    "5859": ("Chronic kidney dis NOS", "Chronic disease of the kidney, stage unspecified"),
    "5856": ("End stage renal disease", "Disease of the kidney in its end stage"),
    "5990": ("Urin tract infection NOS", "Infection of the urinary tract, site not specified"),
    "5715": ("Cirrhosis of liver NOS", "Cirrhosis of the liver without mention of alcohol"),
    "5712": ("Alcohol cirrhosis liver", "Cirrhosis of the liver due to alcohol"),
    "5723": ("Portal hypertension", "High pressure in the portal vein"),
    "4560": ("Esophag varices w bleed", "Varices of the esophagus with bleeding"),
    "5770": ("Acute pancreatitis", "Acute inflammation of the pancreas"),
    "5789": ("Gastrointest hemorr NOS", "Bleeding of the gastrointestinal tract, unspecified"),
    "53081": ("Esophageal reflux", "Reflux into the esophagus"),
    "53240": ("Chr duoden ulcer w hem", "Chronic duodenal ulcer with bleeding, without obstruction"),
    "56211": ("Dvrtcli colon w/o hmrhg", "Diverticulitis of the colon without bleeding"),
    "5609": ("Intestinal obstruct NOS", "Obstruction of the intestine, unspecified"),
    "2851": ("Ac posthemorrhag anemia", "Acute anemia after loss of blood"),
    "2859": ("Anemia NOS", "Anemia, unspecified"),
    "2875": ("Thrombocytopenia NOS", "Low platelet count, unspecified"),
    "43491": ("Crbl art ocl NOS w infrc", "Occlusion of a cerebral artery with infarction, unspecified"),
    "431": ("Intracerebral hemorrhage", "Bleeding inside the brain"),
    "430": ("Subarachnoid hemorrhage", "Bleeding into the subarachnoid space"),
    "34590": ("Epilep NOS w/o intr epil", "Epilepsy, unspecified, without mention of intractable epilepsy"),
    "2930": ("Delirium d/t other cond", "Delirium due to conditions classified elsewhere"),
    "311": ("Depressive disorder NEC", "Depressive disorder, not elsewhere classified"),
    "29181": ("Alcohol withdrawal", "Withdrawal from alcohol"),
    "3051": ("Tobacco use disorder", "Disorder of tobacco use"),
    "1623": ("Mal neo upper lobe lung", "Malignant growth of the upper lobe, bronchus or lung"),
    "1970": ("Secondary malig neo lung", "Secondary malignant growth of the lung"),
    "1977": ("Second malig neo liver", "Secondary malignant growth of the liver"),
    "1983": ("Sec mal neo brain/spine", "Secondary malignant growth of the brain and spinal cord"),
    "82021": ("Intertrochanteric fx-cl", "Closed fracture of the intertrochanteric section of the femur"),
    "8208": ("Fx neck of femur NOS-cl", "Closed fracture of the neck of the femur, unspecified part"),
    "85221": ("Subdural hem w/o coma", "Subdural bleeding after injury, without loss of consciousness"),
    "8600": ("Traum pneumothorax-close", "Traumatic pneumothorax without an open wound"),
    "E8859": ("Fall from slipping NEC", "Fall on the same level from slipping, tripping or stumbling"),
    "99662": ("React-oth vasc dev/graft", "Infection and reaction due to a vascular device, implant or graft"),
    "9971": ("Surg compl-heart", "Complications of the heart after surgery"),
    "7140": ("Rheumatoid arthritis", "Rheumatoid inflammation of the joints"),
    "73300": ("Osteoporosis NOS", "Osteoporosis, unspecified"),
    "32723": ("Obstructive sleep apnea", "Obstructive apnea during sleep"),
    "78039": ("Convulsions NEC", "Other convulsions"),
    "6826": ("Cellulitis of leg", "Cellulitis and abscess of the leg, except the foot"),
    "00845": ("Int inf clstrdium dfcile", "Infection of the intestine with Clostridium difficile"),
    "V4581": ("Aortocoronary bypass", "State after bypass of the coronary arteries"),
    "V5861": ("Long-term use anticoagul", "Long-term (current) use of anticoagulants"),
    "V1582": ("History of tobacco use", "Personal history of tobacco use"),
    "V1046": ("Hx-prostatic malignancy", "Personal history of malignant growth of the prostate"),
    "V103": ("Hx of breast malignancy", "Personal history of malignant growth of the breast"),
}
"""ICD-9-CM code -> short title, long title."""

UNUSED_DIAGNOSES: dict[str, tuple[str, str]] = {
    "01716": ("Erythem nod tb-oth test", "Erythema nodosum with hypersensitivity reaction in tuberculosis"),
    "0600": ("Sylvatic yellow fever", "Jungle yellow fever"),
    "9066": ("Late effect burn wrist", "Late effect of a burn of the wrist and hand"),
}
"""Diagnoses of the dictionary that nobody had."""

UNLISTED_DIAGNOSIS = "7999X"
"""A code that stands in patients' rows and not in the dictionary."""

PROCEDURES: dict[str, tuple[str, str]] = {
    "966": ("Entral infus nutrit sub", "Infusion of concentrated nutrients into the gut"),
    "9604": ("Insert endotracheal tube", "Insertion of a tube into the trachea"),
    "9671": ("Cont inv mec ven <96 hrs", "Continuous invasive ventilation for less than 96 consecutive hours"),
    "9672": ("Cont inv mec ven 96+ hrs", "Continuous invasive ventilation for 96 consecutive hours or more"),
    "9390": ("Non-invasive mech vent", "Mechanical ventilation without a tube"),
    "3893": ("Venous cath NEC", "Catheterization of a vein, not elsewhere classified"),
    "3891": ("Arterial catheterization", "Catheterization of an artery"),
    "3895": ("Ven cath renal dialysis", "Catheterization of a vein for dialysis"),
    "3995": ("Hemodialysis", "Dialysis of the blood"),
    "9904": ("Packed cell transfusion", "Transfusion of packed cells"),
    "9907": ("Serum transfusion NEC", "Transfusion of other serum"),
    "9905": ("Platelet transfusion", "Transfusion of platelets"),
    "3722": ("Left heart cardiac cath", "Catheterization of the left heart"),
    "8856": ("Coronar arteriogr-2 cath", "Imaging of the coronary arteries with two catheters"),
    "3607": ("Ins drug-elut coronry st", "Insertion of a drug-eluting stent into a coronary artery"),
    "0066": ("PTCA", "Opening of a coronary artery through the skin"),
    "3613": ("Aortocor bypas-3 cor art", "Bypass of three coronary arteries"),
    "3615": ("1 int mam-cor art bypass", "Bypass from one internal mammary artery to a coronary artery"),
    "3521": ("Opn/oth rep aort vlv-tis", "Replacement of the aortic valve with tissue"),
    "3961": ("Extracorporeal circulat", "Extracorporeal circulation for open heart surgery"),
    "8872": ("Dx ultrasound-heart", "Diagnostic ultrasound of the heart"),
    "9962": ("Heart countershock NEC", "Electric countershock of the heart"),
    "4513": ("Sm bowel endoscopy NEC", "Other endoscopy of the small intestine"),
    "4516": ("EGD with closed biopsy", "Endoscopy of esophagus, stomach and duodenum with biopsy"),
    "4233": ("Endosc destru esoph les", "Destruction of a lesion of the esophagus by endoscopy"),
    "4523": ("Colonoscopy", "Endoscopy of the colon"),
    "5491": ("Percu abdominal drainage", "Drainage of the abdomen through the skin"),
    "4562": ("Part sm bowel resect NEC", "Partial removal of the small intestine"),
    "5187": ("Endosc insert bile stent", "Insertion of a stent into the bile duct by endoscopy"),
    "3404": ("Insert intercostal cath", "Insertion of a catheter between the ribs for drainage"),
    "3324": ("Closed bronchial biopsy", "Biopsy of the bronchus by endoscopy"),
    "0331": ("Spinal tap", "Puncture of the spinal canal"),
    "0131": ("Incise cerebral meninges", "Incision of the coverings of the brain"),
    "8841": ("Contrast cerebr arterigm", "Imaging of the brain's arteries with contrast"),
    "9910": ("Inject/infus thrombolyti", "Injection or infusion of a thrombolytic agent"),
    "7935": ("Open reduc-int fix femur", "Open reduction of a fracture of the femur with internal fixation"),
    "8152": ("Partial hip replacement", "Replacement of part of the hip"),
    "387": ("Interruption vena cava", "Interruption of the vena cava"),
    "9462": ("Alcohol detoxification", "Withdrawal of alcohol under supervision"),
}
"""ICD-9-CM procedure code -> short title, long title."""

REPEATED_PROCEDURE = ("9671", "Inv mec ven, repeated row", "A second row of the dictionary for the same code")
"""A later row of the procedure dictionary for a code that has one already: the first counts."""

UNLISTED_PROCEDURE = "9999"
"""A procedure code that stands in patients' rows and not in the dictionary."""


@dataclass(frozen=True)
class ChartItem:
    """A bedside measurement of CHARTEVENTS."""

    itemid: int
    label: str
    unit: str
    centre: float
    spread: float
    lowest: float
    highest: float
    decimals: int


CHART_ITEMS: tuple[ChartItem, ...] = (
    ChartItem(677, "Temperature C (calc)", "Deg. C", 37.0, 0.5, 33.0, 41.5, 1),
    ChartItem(834, "SaO2", "%", 97, 1.6, 70, 100, 0),
    ChartItem(211, "Heart Rate", "BPM", 84, 13, 30, 190, 0),
    ChartItem(618, "Respiratory Rate", "BPM", 18, 4, 6, 50, 0),
    ChartItem(51, "Arterial BP [Systolic]", "mmHg", 122, 16, 50, 220, 0),
    ChartItem(8368, "Arterial BP [Diastolic]", "mmHg", 62, 10, 25, 130, 0),
    ChartItem(52, "Arterial BP Mean", "mmHg", 82, 11, 35, 160, 0),
    ChartItem(762, "Admit Wt", "kg", 79, 17, 35, 180, 1),
    ChartItem(920, "Admit Ht", "inches", 67, 4, 54, 80, 0),
)

OTHER_CHART_ITEMS: tuple[ChartItem, ...] = (
    ChartItem(198, "GCS Total", "points", 12, 3, 3, 15, 0),
    ChartItem(113, "CVP", "mmHg", 10, 4, 0, 30, 0),
)
"""Measurements that the task's tables leave out."""

INPUTS: tuple[tuple[int, str, float], ...] = (
    (30018, ".9% Normal Saline", 250),
    (30013, "D5W", 100),
    (30021, "Lactated Ringers", 300),
    (30032, "TPN", 240),
    (30015, "D5/.45NS", 180),
    (30090, "Tube Feeding", 160),
    (30056, "Po Intake", 200),
    (30144, "Gastric Meds", 60),
    (30001, "Packed RBC's", 350),
    (30005, "Fresh Frozen Plasma", 280),
)
"""Item, label, usual volume in ml."""

OTHER_INPUTS: tuple[tuple[int, str, str, float], ...] = ((30045, "Insulin", "U", 4), (30131, "Propofol", "mg", 120), (30026, "KCL", "mEq", 20))
"""Inputs in units other than ml, which the task's tables leave out: item, label, unit, usual amount."""

OUTPUTS: tuple[tuple[int, str, float], ...] = (
    (40055, "Urine Out Foley", 130),
    (40069, "Urine Out Void", 250),
    (40054, "Stool Out Stool", 150),
    (40052, "Gastric Nasogastric", 100),
    (40076, "Chest Tubes CTICU CT 1", 60),
    (40071, "Drain Out #1 Jackson Pratt", 40),
    (40286, "Ultrafiltrate Ultrafiltrate", 300),
)
"""Item, label, usual volume in ml."""

UNUSED_ITEMS: tuple[tuple[int, str | None, str], ...] = (
    (1435, "Sustained Nystagmus", "chartevents"),
    (3655, None, "chartevents"),
    (30140, None, "inputevents_cv"),
    (41857, "Ileostomy Output", "outputevents"),
    (220045, "Heart Rate", "procedureevents_mv"),
    (225310, "ART BP Diastolic", "datetimeevents"),
    (80017, "PROTEUS MIRABILIS", "microbiologyevents"),
)
"""Items of the dictionary that nobody had, some without a label or of tables that the task does not have."""


@dataclass(frozen=True)
class Drug:
    """A drug as it is usually ordered."""

    name: str
    doses: tuple[str, ...]
    """Usual doses; those that are not whole numbers are left out of the task's tables."""
    unit: str
    route: str
    code: str
    other_unit: str | None = None
    """A unit in which a few orders are written, left out of the task's tables."""
    kind: str = "MAIN"


DRUGS: dict[str, Drug] = {
    drug.name: drug
    for drug in (
        Drug("Potassium Chloride", ("20", "40", "60"), "mEq", "PO", "KCL20P", "ml"),
        Drug("0.9% Sodium Chloride", ("50", "100", "250", "1000"), "ml", "IV", "NS1000", "BAG", "BASE"),
        Drug("5% Dextrose", ("50", "100", "250"), "ml", "IV DRIP", "D5W250", None, "BASE"),
        Drug("D5 1/2NS", ("1000",), "ml", "IV", "D545NS", None, "BASE"),
        Drug("Lactated Ringer's", ("500", "1000"), "ml", "IV", "LR1000", None, "BASE"),
        Drug("Furosemide", ("20", "40", "80"), "mg", "IV", "FURO40I", "mL"),
        Drug("Insulin", ("2", "4", "6", "10"), "UNIT", "SC", "INHUMI", "VIAL"),
        Drug("Insulin Glargine", ("10", "15", "20", "30"), "UNIT", "SC", "GLARG"),
        Drug("Metformin", ("500", "850", "1000"), "mg", "PO", "METF500"),
        Drug("Morphine Sulfate", ("2", "4", "0.5-1"), "mg", "IV", "MORP2I"),
        Drug("Hydromorphone", ("1", "2", "0.25"), "mg", "IV", "HYDR20"),
        Drug("Fentanyl Citrate", ("25", "50", "100"), "mcg", "IV", "FENT2I"),
        Drug("Midazolam", ("1", "2", "0.5"), "mg", "IV", "MIDA2I"),
        Drug("Propofol", ("1000", "20"), "mg", "IV DRIP", "PROP100IG"),
        Drug("Norepinephrine", ("8", "16"), "mg", "IV DRIP", "NORE4I"),
        Drug("Magnesium Sulfate", ("2", "4"), "gm", "IV", "MAG2PM", "ml"),
        Drug("Calcium Gluconate", ("1", "2"), "gm", "IV", "CALCG2/100"),
        Drug("Acetaminophen", ("325", "650", "1,000"), "mg", "PO", "ACET325", "TAB"),
        Drug("Heparin Sodium", ("5,000", "25,000"), "UNIT", "SC", "HEPA5I", "ml"),
        Drug("Enoxaparin Sodium", ("30", "40", "80"), "mg", "SC", "ENOX40I"),
        Drug("Warfarin", ("1", "2", "5", "2.5"), "mg", "PO", "WARF5"),
        Drug("Aspirin", ("81", "325"), "mg", "PO", "ASA81", "TAB"),
        Drug("Clopidogrel", ("75", "300"), "mg", "PO", "CLOP75"),
        Drug("Atorvastatin", ("10", "20", "80"), "mg", "PO", "ATOR10"),
        Drug("Simvastatin", ("20", "40"), "mg", "PO", "SIMV20"),
        Drug("Metoprolol Tartrate", ("25", "50", "12.5"), "mg", "PO", "METO25"),
        Drug("Lisinopril", ("5", "10", "20", "2.5"), "mg", "PO", "LISI5"),
        Drug("Amlodipine", ("5", "10"), "mg", "PO", "AMLO5"),
        Drug("Hydralazine", ("10", "25"), "mg", "IV", "HYDZ20I"),
        Drug("Nitroglycerin", ("50", "100", "0.3"), "mcg", "IV DRIP", "NTG100PB"),
        Drug("Amiodarone", ("200", "400", "150"), "mg", "PO", "AMIO200"),
        Drug("Diltiazem", ("30", "60"), "mg", "PO", "DILT30"),
        Drug("Digoxin", ("0.125", "0.25", "1"), "mg", "PO", "DIGO125"),
        Drug("Vancomycin", ("750", "1,000", "1250"), "mg", "IV", "VANC1F", "gm"),
        Drug("Piperacillin-Tazobactam", ("4", "2.25"), "gm", "IV", "ZOSY4"),
        Drug("Ceftriaxone", ("1", "2"), "gm", "IV", "CEFT1F"),
        Drug("Cefepime", ("1", "2"), "gm", "IV", "CEFE2I"),
        Drug("Cefazolin", ("1", "2"), "gm", "IV", "CEFA1"),
        Drug("Levofloxacin", ("250", "500", "750"), "mg", "IV", "LEVO500PM"),
        Drug("Azithromycin", ("250", "500"), "mg", "PO", "AZIT250"),
        Drug("Metronidazole", ("500",), "mg", "IV", "METR500PM"),
        Drug("Meropenem", ("500", "1,000"), "mg", "IV", "MERO500I"),
        Drug("Ciprofloxacin", ("250", "400", "500"), "mg", "PO", "CIPR500"),
        Drug("Pantoprazole", ("40", "80"), "mg", "PO", "PANT40", "VIAL"),
        Drug("Famotidine", ("20",), "mg", "PO", "FAMO20"),
        Drug("Octreotide Acetate", ("50", "500"), "mcg", "IV DRIP", "OCTR100I"),
        Drug("Docusate Sodium", ("100", "200"), "mg", "PO", "DOCU100"),
        Drug("Senna", ("1", "2"), "TAB", "PO", "SENN187"),
        Drug("Bisacodyl", ("5", "10"), "mg", "PR", "BISA10R"),
        Drug("Lactulose", ("15", "30", "45"), "ml", "PO", "LACT30L"),
        Drug("Ondansetron", ("4", "8"), "mg", "IV", "ONDAN4I"),
        Drug("Albuterol 0.083% Neb Soln", ("1", "2"), "NEB", "IH", "ALBU3H"),
        Drug("Ipratropium Bromide Neb", ("1", "2"), "NEB", "IH", "IPRA2H"),
        Drug("Methylprednisolone Sodium Succ", ("60", "125"), "mg", "IV", "METH125I"),
        Drug("Prednisone", ("20", "40", "60"), "mg", "PO", "PRED20"),
        Drug("Levothyroxine Sodium", ("50", "75", "112"), "mcg", "PO", "LEVO50T"),
        Drug("Lorazepam", ("1", "2", "0.5"), "mg", "IV", "LORA2I"),
        Drug("Haloperidol", ("1", "2", "5"), "mg", "IV", "HALO5I"),
        Drug("Quetiapine", ("25", "50"), "mg", "PO", "QUET25"),
        Drug("Sertraline", ("50", "100"), "mg", "PO", "SERT50"),
        Drug("Levetiracetam", ("500", "1000"), "mg", "PO", "LEVE500"),
        Drug("Phenytoin", ("100", "300"), "mg", "IV", "PHEN100"),
        Drug("Mannitol 20%", ("25", "50"), "gm", "IV", "MANN20"),
        Drug("Alteplase", ("2", "50", "90"), "mg", "IV", "TPA50"),
        Drug("Thiamine", ("100",), "mg", "IV", "THIA100"),
        Drug("FoLIC Acid", ("1",), "mg", "PO", "FOLI1"),
        Drug("Multivitamins", ("1",), "TAB", "PO", "MULT"),
        Drug("Spironolactone", ("25", "50", "100"), "mg", "PO", "SPIR25"),
        Drug("Nicotine Patch", ("14", "21"), "mg", "TD", "NICO14"),
        Drug("Allopurinol", ("100", "300"), "mg", "PO", "ALLO100"),
        Drug("Dexamethasone", ("4", "10"), "mg", "IV", "DEXA4"),
        Drug("Nystatin Oral Suspension", ("5",), "ml", "PO", "NYST5L"),
    )
}

SPECIMENS: dict[str, int] = {
    "BLOOD CULTURE": 70012,
    "URINE": 70079,
    "SPUTUM": 70062,
    "STOOL": 70064,
    "SWAB": 70070,
    "MRSA SCREEN": 70091,
    "CATHETER TIP-IV": 70023,
    "BRONCHOALVEOLAR LAVAGE": 70021,
    "PERITONEAL FLUID": 70053,
    "CSF;SPINAL FLUID": 70026,
}

ORGANISMS: dict[str, tuple[int, tuple[str, ...]]] = {
    "ESCHERICHIA COLI": (80002, ("BLOOD CULTURE", "URINE", "PERITONEAL FLUID")),
    "STAPH AUREUS COAG +": (80023, ("BLOOD CULTURE", "SPUTUM", "SWAB", "MRSA SCREEN", "CATHETER TIP-IV")),
    "KLEBSIELLA PNEUMONIAE": (80004, ("BLOOD CULTURE", "URINE", "SPUTUM", "BRONCHOALVEOLAR LAVAGE")),
    "PSEUDOMONAS AERUGINOSA": (80026, ("SPUTUM", "URINE", "BRONCHOALVEOLAR LAVAGE", "SWAB")),
    "PROTEUS MIRABILIS": (80017, ("URINE",)),
    "STAPHYLOCOCCUS, COAGULASE NEGATIVE": (80155, ("BLOOD CULTURE", "CATHETER TIP-IV", "CSF;SPINAL FLUID")),
    "ENTEROCOCCUS SP.": (80053, ("BLOOD CULTURE", "URINE", "PERITONEAL FLUID")),
    "YEAST": (80075, ("SPUTUM", "URINE")),
    "CLOSTRIDIUM DIFFICILE": (80139, ("STOOL",)),
    "STREPTOCOCCUS PNEUMONIAE": (80076, ("SPUTUM", "BLOOD CULTURE", "CSF;SPINAL FLUID")),
}
"""Organism -> item, specimens in which it grows."""

ANTIBIOTICS: dict[str, int] = {"GENTAMICIN": 90012, "VANCOMYCIN": 90015, "CEFEPIME": 90028, "CIPROFLOXACIN": 90019, "MEROPENEM": 90029}

CARE_UNIT_WARDS: dict[str, tuple[int, ...]] = {"MICU": (50, 52), "SICU": (23, 33), "CCU": (7, 57), "CSRU": (12, 15), "TSICU": (14, 24)}
"""Intensive care unit -> its wards."""

GENERAL_WARDS: tuple[int, ...] = (2, 3, 4, 16, 17, 18, 29, 36, 40, 45, 54, 55)
