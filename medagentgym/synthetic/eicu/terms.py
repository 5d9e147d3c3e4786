"""What things are called in eICU: the paths of diagnoses and treatments, tests, specimens, cells of the flowsheet, hospitals.

The left side of each mapping is how the made-up cohort (`medagentgym.synthetic.dictionaries`, `conditions`) calls it.
"""

from __future__ import annotations

DIAGNOSES: dict[str, tuple[str, str]] = {
    "0389": ("cardiovascular|shock / hypotension|sepsis", "038.9, A41.9"),
    "99591": ("infectious diseases|systemic/other infections|signs and symptoms of sepsis (SIRS)", "995.90"),
    "99592": ("cardiovascular|shock / hypotension|sepsis|severe", "995.92, R65.2"),
    "78552": ("cardiovascular|shock / hypotension|septic shock", "785.52, R65.21"),
    "486": ("pulmonary|pulmonary infections|pneumonia", "486, J18.9"),
    "5070": ("pulmonary|pulmonary infections|pneumonia|aspiration", "507.0, J69.0"),
    "51881": ("pulmonary|respiratory failure|acute respiratory failure", "518.81, J96.00"),
    "49121": ("pulmonary|disorders of the airways|acute COPD exacerbation", "491.21, J44.1"),
    "496": ("pulmonary|disorders of the airways|COPD", "491.20, J44.9"),
    "49390": ("pulmonary|disorders of the airways|asthma / bronchospasm", "493.90, J45"),
    "41071": ("cardiovascular|chest pain / ASHD|acute coronary syndrome|acute myocardial infarction (no ST elevation)", "410.71, I21.4"),
    "41401": ("cardiovascular|chest pain / ASHD|coronary artery disease|known", "414.00, I25.10"),
    "4111": ("cardiovascular|chest pain / ASHD|acute coronary syndrome|unstable angina", "411.1, I20.0"),
    "412": ("cardiovascular|chest pain / ASHD|coronary artery disease|prior MI", "412, I25.2"),
    "4280": ("cardiovascular|ventricular disorders|congestive heart failure", "428.0, I50.9"),
    "42833": ("cardiovascular|ventricular disorders|congestive heart failure|diastolic dysfunction", "428.33, I50.33"),
    "42731": ("cardiovascular|arrhythmias|atrial fibrillation", "427.31, I48.0"),
    "4241": ("cardiovascular|valvular disease|valvular stenosis|aortic", "424.1, I35.0"),
    "4240": ("cardiovascular|valvular disease|valvular insufficiency|mitral", "424.0, I34.0"),
    "41519": ("pulmonary|disorders of vasculature|pulmonary embolism", "415.19, I26.99"),
    "45341": ("cardiovascular|vascular disorders|DVT", "453.40, I82.409"),
    "4019": ("cardiovascular|vascular disorders|hypertension", "401.9, I10"),
    "40390": ("renal|disorder of kidney|chronic kidney disease|Stage 3 (GFR 30-59)", "585.3, N18.3"),
    "2724": ("cardiovascular|chest pain / ASHD|hyperlipidemia", "272.4, E78.5"),
    "25000": ("endocrine|glucose metabolism|diabetes mellitus|Type II", "250.00, E11.9"),
    "25013": ("endocrine|glucose metabolism|DKA", "250.13, E10.1"),
    "2449": ("endocrine|thyroid|hypothyroidism", "244.9, E03.9"),
    "27800": ("gastrointestinal|abdominal/ general|obesity", "278.00, E66.9"),
    "2761": ("renal|electrolyte imbalance|hyponatremia", "276.1, E87.1"),
    "2767": ("renal|electrolyte imbalance|hyperkalemia", "276.7, E87.5"),
    "2762": ("renal|disorder of acid base|metabolic acidosis", "276.2, E87.2"),
    "5849": ("renal|disorder of kidney|acute renal failure", "584.9, N17.9"),
    "5859": ("renal|disorder of kidney|chronic renal insufficiency", "585.9, N18.9"),
    "5856": ("renal|disorder of kidney|ESRD (end stage renal disease)", "585.6, N18.6"),
    "5990": ("renal|disorder of urinary tract / renal system infection|urinary tract infection", "599.0, N39.0"),
    "5715": ("gastrointestinal|hepatic disease|hepatic dysfunction|with cirrhosis", "571.5, K74.60"),
    "5712": ("gastrointestinal|hepatic disease|toxic hepatitis|alcohol related", "571.1, K70.1"),
    "5723": ("gastrointestinal|hepatic disease|portal hypertension", "572.3, K76.6"),
    "4560": ("gastrointestinal|GI bleeding / PUD|upper GI bleeding|varices", "456.0, I85.01"),
    "5770": ("gastrointestinal|pancreatic disease|pancreatitis|acute", "577.0, K85.9"),
    "5789": ("gastrointestinal|GI bleeding / PUD|GI bleeding", "578.9, K92.2"),
    "53240": ("gastrointestinal|GI bleeding / PUD|peptic ulcer disease|duodenal ulcer", "532.40, K26.4"),
    "56211": ("gastrointestinal|intestinal disease|diverticulitis", "562.11, K57.32"),
    "5609": ("gastrointestinal|intestinal disease|bowel obstruction", "560.9, K56.60"),
    "2851": ("hematology|bleeding and red blood cell disorders|anemia|acute blood loss anemia", "285.1, D62"),
    "2859": ("hematology|bleeding and red blood cell disorders|anemia", "285.9, D64.9"),
    "2875": ("hematology|platelet disorders|thrombocytopenia", "287.5, D69.6"),
    "43491": ("neurologic|disorders of vasculature|stroke|ischemic stroke", "434.91, I63.50"),
    "431": ("neurologic|disorders of vasculature|stroke|hemorrhagic stroke", "432.9, I62.9"),
    "34590": ("neurologic|seizures|seizures", "345.90, R56.9"),
    "2930": ("neurologic|altered mental status / pain|delirium", "293.0, F05"),
    "311": ("neurologic|altered mental status / pain|depression", "311, F32.9"),
    "29181": ("neurologic|altered mental status / pain|drug withdrawal syndrome|alcohol", "291.81, F10.239"),
    "1623": ("oncology|chest tumors|primary lung cancer", "162.9, C34.90"),
    "1970": ("oncology|chest tumors|metastatic lung CA", "197.0, C78.00"),
    "1977": ("oncology|GI tumors|liver CA|CA metastatic to liver", "197.7, C78.7"),
    "1983": ("oncology|CNS tumors|metastatic brain tumor", "198.3, C79.31"),
    "82021": ("burns/trauma|trauma - skeletal|bone fracture(s)|hip", "820.8, S72.0"),
    "85221": ("neurologic|trauma - CNS|intracranial injury|with subdural hematoma", "852.20, S06.5"),
    "8600": ("burns/trauma|trauma - chest|pneumothorax", "860.0, S27.0"),
    "6826": ("infectious diseases|skin, bone and joint infections|cellulitis|extremity", "682.9, L03.119"),
    "00845": ("infectious diseases|GI infections|intra-abdominal infection|clostridium difficile colitis", "008.45, A04.7"),
    "99662": ("infectious diseases|systemic/other infections|bacteremia|intravascular catheter infection", "996.62, T80.2"),
    "32723": ("pulmonary|disorders of the airways|obstructive sleep apnea", "780.57, G47.33"),
    "78039": ("neurologic|seizures|seizures|from acute brain injury", "780.39, R56.9"),
}
"""ICD-9-CM code -> path, codes as eICU writes them. Codes that are not listed have no place in eICU's tree."""

RARE_HEADS: dict[str, str] = {
    "cardiovascular|shock / hypotension|sepsis": "infectious diseases|systemic/other infections|sepsis",
    "pulmonary|pulmonary infections|pneumonia": "infectious diseases|chest/pulmonary infections|pneumonia",
    "pulmonary|ventilation and oxygenation|mechanical ventilation": "surgery|pulmonary therapies|mechanical ventilation",
}
"""Paths that now and then stand under another head, where the task's tables do not look for them."""

TREATMENTS: dict[str, str] = {
    "966": "gastrointestinal|nutrition|enteral feeds|tube feeding",
    "9604": "pulmonary|radiologic procedures / bronchoscopy|endotracheal tube|insertion",
    "9671": "pulmonary|ventilation and oxygenation|mechanical ventilation",
    "9672": "pulmonary|ventilation and oxygenation|mechanical ventilation|assist controlled",
    "9390": "pulmonary|ventilation and oxygenation|non-invasive ventilation",
    "3893": "infectious diseases|procedures|vascular catheter placement|central venous",
    "3891": "cardiovascular|other therapies|arterial line placement",
    "3895": "renal|dialysis|dialysis catheter placement",
    "3995": "renal|dialysis|hemodialysis",
    "9904": "hematology|red blood cell disorders|blood product administration|packed red blood cells",
    "9907": "hematology|coagulation and platelets|administration of plasma|fresh frozen plasma",
    "9905": "hematology|coagulation and platelets|platelet transfusion",
    "3722": "cardiovascular|non-operative procedures|cardiac angiography",
    "8856": "cardiovascular|non-operative procedures|cardiac angiography|coronary",
    "3607": "cardiovascular|myocardial ischemia / infarction|coronary stent|drug-eluting",
    "0066": "cardiovascular|myocardial ischemia / infarction|percutaneous coronary intervention",
    "3613": "cardiovascular|cardiac surgery|CABG|three vessels",
    "3615": "cardiovascular|cardiac surgery|CABG|internal mammary artery graft",
    "3521": "cardiovascular|cardiac surgery|valve replacement or repair|aortic",
    "8872": "cardiovascular|non-operative procedures|diagnostic ultrasound of heart",
    "9962": "cardiovascular|arrhythmias|electrical cardioversion",
    "4513": "gastrointestinal|endoscopy/gastric instrumentation|esophagogastroduodenoscopy",
    "4516": "gastrointestinal|endoscopy/gastric instrumentation|esophagogastroduodenoscopy|with biopsy",
    "4233": "gastrointestinal|endoscopy/gastric instrumentation|esophageal banding",
    "4523": "gastrointestinal|endoscopy/gastric instrumentation|colonoscopy",
    "5491": "gastrointestinal|radiology, diagnostic and procedures|paracentesis",
    "4562": "gastrointestinal|exploratory surgery|bowel resection",
    "5187": "gastrointestinal|endoscopy/gastric instrumentation|biliary stent",
    "3404": "pulmonary|radiologic procedures / bronchoscopy|chest tube placement",
    "3324": "pulmonary|radiologic procedures / bronchoscopy|bronchoscopy|with biopsy",
    "0131": "neurologic|procedures / diagnostics|evacuation of hematoma",
    "8841": "neurologic|procedures / diagnostics|cerebral angiography",
    "9910": "neurologic|ischemic stroke|thrombolytics|tissue plasminogen activator",
    "7935": "surgery|orthopedic procedures|open reduction internal fixation",
    "8152": "surgery|orthopedic procedures|hip replacement",
    "387": "cardiovascular|vascular disorders|inferior vena cava filter",
    "9462": "toxicology|drug withdrawal|alcohol withdrawal protocol",
}
"""ICD-9-CM procedure -> path of a treatment."""

DRUG_TREATMENTS: dict[str, str] = {
    "Vancomycin": "infectious diseases|medications|therapeutic antibacterials|vancomycin",
    "Piperacillin-Tazobactam": "infectious diseases|medications|therapeutic antibacterials|penicillins|piperacillin/tazobactam",
    "Ceftriaxone": "infectious diseases|medications|therapeutic antibacterials|third generation cephalosporin|ceftriaxone",
    "Levofloxacin": "infectious diseases|medications|therapeutic antibacterials|quinolone|levofloxacin",
    "Meropenem": "infectious diseases|medications|therapeutic antibacterials|carbapenem|meropenem",
    "Metronidazole": "infectious diseases|medications|therapeutic antibacterials|metronidazole",
    "Norepinephrine": "cardiovascular|shock|vasopressors|norepinephrine",
    "Furosemide": "cardiovascular|ventricular dysfunction|intravenous diuretic|IV furosemide",
    "Aspirin": "cardiovascular|myocardial ischemia / infarction|antiplatelet agent|aspirin",
    "Clopidogrel": "cardiovascular|myocardial ischemia / infarction|antiplatelet agent|clopidogrel",
    "Metoprolol Tartrate": "cardiovascular|hypertension|beta blocker|metoprolol",
    "Amiodarone": "cardiovascular|arrhythmias|antiarrhythmics|class III antiarrhythmic|amiodarone",
    "Heparin Sodium": "cardiovascular|vascular disorders|VTE prophylaxis|conventional heparin therapy",
    "Enoxaparin Sodium": "cardiovascular|vascular disorders|VTE prophylaxis|low molecular weight heparin|enoxaparin",
    "Insulin": "endocrine|glucose metabolism|insulin|sliding scale administration",
    "Pantoprazole": "gastrointestinal|medications|stress ulcer prophylaxis|pantoprazole",
    "Ondansetron": "gastrointestinal|medications|antiemetic|serotonin antagonist|ondansetron",
    "Lorazepam": "neurologic|pain / agitation / altered mentation|sedative agent|lorazepam",
    "Propofol": "neurologic|pain / agitation / altered mentation|sedative agent|propofol",
    "Levetiracetam": "neurologic|seizure therapy|anticonvulsant|levetiracetam",
    "Morphine Sulfate": "neurologic|pain / agitation / altered mentation|analgesics|narcotic analgesic",
    "Prednisone": "pulmonary|medications|glucocorticoid administration|oral",
    "Albuterol 0.083% Neb Soln": "pulmonary|medications|bronchodilator|beta-agonist|albuterol",
}
"""Drug -> path of the treatment that goes with it."""

COMMON_TREATMENTS: tuple[tuple[str, float], ...] = (
    ("pulmonary|radiologic procedures / bronchoscopy|chest x-ray", 0.5),
    ("pulmonary|ventilation and oxygenation|oxygen therapy (< 40%)|nasal cannula", 0.4),
    ("cardiovascular|intravenous fluid|normal saline administration", 0.4),
    ("cardiovascular|vascular disorders|VTE prophylaxis|compression stockings", 0.35),
    ("renal|urinary catheters|foley catheter", 0.35),
    ("cardiovascular|consultations|Cardiology consultation", 0.2),
    ("general|support services|physical therapy consult", 0.2),
    ("renal|electrolyte correction|electrolyte administration|potassium", 0.15),
    ("neurologic|procedures / diagnostics|head CT scan", 0.15),
)
"""Paths of treatments that anyone may have, and how often."""

LAB_NAMES: dict[str, str] = {
    "Potassium": "potassium",
    "Sodium": "sodium",
    "Chloride": "chloride",
    "Bicarbonate": "bicarbonate",
    "Urea Nitrogen": "BUN",
    "Creatinine": "creatinine",
    "Glucose": "glucose",
    "Anion Gap": "anion gap",
    "Magnesium": "magnesium",
    "Calcium, Total": "calcium",
    "Phosphate": "phosphate",
    "Hematocrit": "Hct",
    "Hemoglobin": "Hgb",
    "White Blood Cells": "WBC x 1000",
    "Platelet Count": "platelets x 1000",
    "Red Blood Cells": "RBC",
    "MCV": "MCV",
    "RDW": "RDW",
    "PT": "PT",
    "PTT": "PTT",
    "INR(PT)": "PT - INR",
    "pH": "pH",
    "pO2": "paO2",
    "pCO2": "paCO2",
    "Base Excess": "Base Excess",
    "Lactate": "lactate",
    "Free Calcium": "ionized calcium",
    "Bilirubin, Total": "total bilirubin",
    "Alanine Aminotransferase (ALT)": "ALT (SGPT)",
    "Asparate Aminotransferase (AST)": "AST (SGOT)",
    "Alkaline Phosphatase": "alkaline phos.",
    "Albumin": "albumin",
    "Lipase": "lipase",
    "Creatine Kinase (CK)": "CPK",
    "Creatine Kinase, MB Isoenzyme": "CPK-MB",
    "Troponin T": "troponin - T",
    "Specific Gravity": "urinary specific gravity",
    "Sodium, Urine": "urinary sodium",
}
"""Label of a test -> its name in eICU. Tests that are not listed are not done."""

VITALS: dict[int, str] = {
    677: "temperature",
    834: "sao2",
    211: "heartrate",
    618: "respiration",
    51: "systemicsystolic",
    8368: "systemicdiastolic",
    52: "systemicmean",
}
"""Item at the bedside -> column of vitalPeriodic."""


SPECIMENS: dict[str, str] = {
    "BLOOD CULTURE": "Blood, Venipuncture",
    "URINE": "Urine, Catheter Specimen",
    "SPUTUM": "Sputum, Tracheal Specimen",
    "STOOL": "Stool",
    "SWAB": "Skin",
    "MRSA SCREEN": "Nasopharynx",
    "CATHETER TIP-IV": "Blood, Central Line",
    "BRONCHOALVEOLAR LAVAGE": "Bronchial Lavage",
    "PERITONEAL FLUID": "Peritoneal Fluid",
    "CSF;SPINAL FLUID": "CSF",
}

ORGANISMS: dict[str, str] = {
    "ESCHERICHIA COLI": "Escherichia coli",
    "STAPH AUREUS COAG +": "Staphylococcus aureus",
    "KLEBSIELLA PNEUMONIAE": "Klebsiella pneumoniae",
    "PSEUDOMONAS AERUGINOSA": "Pseudomonas aeruginosa",
    "PROTEUS MIRABILIS": "Proteus mirabilis",
    "STAPHYLOCOCCUS, COAGULASE NEGATIVE": "gram positive cocci",
    "ENTEROCOCCUS SP.": "Enterococcus faecalis",
    "YEAST": "yeast",
    "CLOSTRIDIUM DIFFICILE": "Clostridium difficile",
    "STREPTOCOCCUS PNEUMONIAE": "Streptococcus pneumoniae",
}
NO_GROWTH = "no growth"
SENSITIVITIES = {"S": "Sensitive", "R": "Resistant", "I": "Intermediate"}

_FLOWSHEET = "flowsheet|Flowsheet Cell Labels|I&O"
INTAKES: dict[str, tuple[str, str]] = {
    ".9% Normal Saline": (f"{_FLOWSHEET}|Intake (ml)|Crystalloids (ml)|NS", "NS"),
    "D5W": (f"{_FLOWSHEET}|Intake (ml)|Crystalloids (ml)|D5W", "D5W"),
    "Lactated Ringers": (f"{_FLOWSHEET}|Intake (ml)|Crystalloids (ml)|LR", "LR"),
    "TPN": (f"{_FLOWSHEET}|Intake (ml)|Nutrition (ml)|TPN", "TPN"),
    "D5/.45NS": (f"{_FLOWSHEET}|Intake (ml)|Generic Intake (ml)|D51/2NS IVF", "D51/2NS IVF"),
    "Tube Feeding": (f"{_FLOWSHEET}|Intake (ml)|Nutrition (ml)|Enteral/Gastric Tube Intake", "Enteral/Gastric Tube Intake"),
    "Po Intake": (f"{_FLOWSHEET}|Intake (ml)|Generic Intake (ml)|P.O. Intake", "P.O. Intake"),
    "Gastric Meds": (f"{_FLOWSHEET}|Intake (ml)|Crystalloids (ml)|Other meds", "Other meds"),
    "Packed RBC's": (f"{_FLOWSHEET}|Intake (ml)|Blood Products (ml)|pRBCs", "pRBCs"),
    "Fresh Frozen Plasma": (f"{_FLOWSHEET}|Intake (ml)|Blood Products (ml)|FFP", "FFP"),
}
"""Label of an input -> path and label of its cell."""
OUTPUTS: dict[str, tuple[str, str]] = {
    "Urine Out Foley": (f"{_FLOWSHEET}|Output (ml)|Urine", "Urine"),
    "Urine Out Void": (f"{_FLOWSHEET}|Output (ml)|Voided Amount", "Voided Amount"),
    "Stool Out Stool": (f"{_FLOWSHEET}|Output (ml)|Stool", "Stool"),
    "Gastric Nasogastric": (f"{_FLOWSHEET}|Output (ml)|Gastric (NG)", "Gastric (NG)"),
    "Chest Tubes CTICU CT 1": (f"{_FLOWSHEET}|Output (ml)|Chest Tube Output", "Chest Tube Output"),
    "Drain Out #1 Jackson Pratt": (f"{_FLOWSHEET}|Output (ml)|JP Drain", "JP Drain"),
    "Ultrafiltrate Ultrafiltrate": (f"{_FLOWSHEET}|Output (ml)|Hemodialysis output", "Hemodialysis output"),
}
"""Label of an output -> path and label of its cell."""
BODY_WEIGHT = (f"{_FLOWSHEET}|Weight|Bodyweight (kg)", "Bodyweight (kg)")
"""A cell that is no volume, which the task's tables leave out."""

ALLERGIES: tuple[tuple[str | None, str], ...] = (
    ("PENICILLIN G BENZATHINE", "PENICILLIN G BENZATHINE"),
    ("CODEINE PHOSPHATE", "CODEINE PHOSPHATE"),
    ("LEVAQUIN", "LEVAQUIN"),
    ("BACTRIM", "BACTRIM"),
    ("MORPHINE SULFATE", "MORPHINE SULFATE"),
    ("ASPIRIN", "ASPIRIN"),
    ("LISINOPRIL", "LISINOPRIL"),
    (None, "penicillins"),
    (None, "sulfa"),
    (None, "latex"),
    (None, "shellfish"),
)
"""Name of the drug, if it is one, and of the allergy."""

CARE_UNITS: dict[str, str] = {"MICU": "MICU", "SICU": "SICU", "CCU": "CCU-CTICU", "CSRU": "CSICU", "TSICU": "Med-Surg ICU"}
"""Unit of the made-up cohort -> its type in eICU."""
STEP_DOWN_UNIT = "Med-Surg ICU"

HOSPITALS: tuple[tuple[int, dict[str | None, int]], ...] = tuple(
    (hospital, {unit: ward + place for place, unit in enumerate((*CARE_UNITS, None))})
    for hospital, ward in ((59, 91), (73, 110), (141, 286), (167, 408), (199, 501), (264, 602), (420, 1035), (443, 1074))
)
"""Number of a hospital, and the ward of each of its units; None: the step-down unit."""

ETHNICITIES: dict[str, str] = {
    "WHITE": "Caucasian",
    "BLACK/AFRICAN AMERICAN": "African American",
    "HISPANIC OR LATINO": "Hispanic",
    "ASIAN": "Asian",
    "UNKNOWN/NOT SPECIFIED": "Other/Unknown",
    "OTHER": "Other/Unknown",
}
ADMISSION_SOURCES: dict[str, tuple[str, ...]] = {
    "EMERGENCY ROOM ADMIT": ("Emergency Department",),
    "CLINIC REFERRAL/PREMATURE": ("Direct Admit",),
    "TRANSFER FROM HOSP/EXTRAM": ("Other Hospital", "Floor"),
    "PHYS REFERRAL/NORMAL DELI": ("Operating Room", "Recovery Room", "Direct Admit"),
}
DISCHARGE_LOCATIONS: dict[str, str] = {
    "HOME": "Home",
    "HOME HEALTH CARE": "Home",
    "SNF": "Skilled Nursing Facility",
    "REHAB/DISTINCT PART HOSP": "Rehabilitation",
    "LONG TERM CARE HOSPITAL": "Other Hospital",
    "HOSPICE-HOME": "Other External",
    "DEAD/EXPIRED": "Death",
}
