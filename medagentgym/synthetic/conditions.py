"""Why patients come: what a condition does to their stay, values, treatment and chances.

The effects are plausible in direction (a septic patient is hot, fast and acidotic) and made up in size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Condition:
    """A reason for admission."""

    code: str
    """Principal ICD-9-CM diagnosis."""
    reason: str
    """The admission's free-text diagnosis."""
    weight: float
    """How common it is, relative to the others."""
    days: float
    """Median length of the hospital stay."""
    intensive: float
    """Chance of intensive care."""
    deadly: float
    """Chance of dying in hospital for a patient of middle severity."""
    units: tuple[str, ...]
    """Intensive care units, likeliest first."""
    companions: tuple[str, ...]
    """Diagnoses that often come with it."""
    procedures: tuple[str, ...]
    drugs: tuple[str, ...]
    labs: Mapping[str, float] = field(default_factory=dict)
    """Test -> shift in spreads, at the start of the stay."""
    vitals: Mapping[int, float] = field(default_factory=dict)
    """Bedside item -> shift in spreads, at the start of the stay."""
    panels: Mapping[str, float] = field(default_factory=dict)
    """Panel -> chance at a draw, where it differs from `PANEL_CHANCES`."""
    infection: float = 0.2
    """Chance that a culture grows something."""
    specimens: tuple[str, ...] = ("BLOOD CULTURE", "URINE", "MRSA SCREEN")
    emergency: float = 0.85
    """Chance that the admission was an emergency."""
    drains: bool = False
    """Whether drains are in place, as after surgery of the chest."""


CONDITIONS: tuple[Condition, ...] = (
    Condition("0389", "SEPSIS", 10, 8, 0.95, 0.22, ("MICU", "SICU"), ("99592", "78552", "5849", "51881", "486", "5990", "2762"),
              ("3893", "3891", "9604", "9672", "966"), ("Vancomycin", "Piperacillin-Tazobactam", "Norepinephrine", "Lactated Ringer's", "Meropenem"),
              {"White Blood Cells": 2.2, "Lactate": 3.0, "Bicarbonate": -1.5, "Creatinine": 2.4, "pH": -1.2, "Platelet Count": -1.0},
              {677: 2.4, 211: 2.0, 618: 1.6, 51: -1.8, 8368: -1.4, 52: -1.7, 834: -1.0}, {"blood gas": 0.6, "clotting": 0.6}, 0.7,
              ("BLOOD CULTURE", "URINE", "SPUTUM", "MRSA SCREEN", "CATHETER TIP-IV")),
    Condition("486", "PNEUMONIA", 9, 6, 0.75, 0.1, ("MICU", "SICU"), ("51881", "496", "99591", "4280"), ("9390", "9604", "9671", "3324"),
              ("Levofloxacin", "Ceftriaxone", "Azithromycin", "Albuterol 0.083% Neb Soln", "Ipratropium Bromide Neb"),
              {"White Blood Cells": 1.8, "pO2": -1.2, "pCO2": 0.8}, {677: 1.8, 618: 2.0, 211: 1.2, 834: -1.8}, {"blood gas": 0.5}, 0.5,
              ("SPUTUM", "BLOOD CULTURE", "BRONCHOALVEOLAR LAVAGE", "MRSA SCREEN")),
    Condition("5070", "ASPIRATION PNEUMONIA", 3, 7, 0.85, 0.16, ("MICU",), ("51881", "2930", "34590"), ("9604", "9671", "966", "3324"),
              ("Piperacillin-Tazobactam", "Metronidazole", "Vancomycin"), {"White Blood Cells": 1.6, "pO2": -1.4}, {677: 1.5, 618: 1.8, 834: -2.0},
              {"blood gas": 0.6}, 0.5, ("SPUTUM", "BLOOD CULTURE")),
    Condition("49121", "COPD EXACERBATION", 5, 5, 0.6, 0.06, ("MICU",), ("51881", "3051", "4280"), ("9390", "9604"),
              ("Methylprednisolone Sodium Succ", "Prednisone", "Albuterol 0.083% Neb Soln", "Ipratropium Bromide Neb", "Azithromycin"),
              {"pCO2": 2.4, "Bicarbonate": 1.2, "Glucose": 1.0, "pH": -0.8}, {618: 2.0, 834: -2.2, 211: 1.0}, {"blood gas": 0.7}, 0.25,
              ("SPUTUM", "BLOOD CULTURE")),
    Condition("41071", "NON-ST ELEVATION MI", 8, 4, 0.7, 0.06, ("CCU", "CSRU"), ("41401", "4280", "2724", "4019"), ("3722", "8856", "3607", "0066"),
              ("Aspirin", "Clopidogrel", "Atorvastatin", "Metoprolol Tartrate", "Heparin Sodium", "Nitroglycerin"),
              {"Troponin T": 4.0, "Creatine Kinase (CK)": 2.0, "Creatine Kinase, MB Isoenzyme": 3.0, "PTT": 1.5}, {211: 0.6, 51: 0.5},
              {"heart": 0.85, "clotting": 0.7}, 0.05, ("MRSA SCREEN", "URINE")),
    Condition("41401", "CORONARY ARTERY DISEASE; BYPASS SURGERY", 7, 7, 0.97, 0.03, ("CSRU",), ("2720", "4019", "4111", "9971", "412"),
              ("3613", "3615", "3961", "9904"), ("Aspirin", "Metoprolol Tartrate", "Furosemide", "Cefazolin", "Hydromorphone", "Insulin"),
              {"Hematocrit": -1.6, "Hemoglobin": -1.6, "Platelet Count": -1.0, "Glucose": 1.0}, {211: 0.4, 52: -0.4}, {"blood gas": 0.7,
              "clotting": 0.6},
              0.08, ("MRSA SCREEN", "URINE"), 0.25, True),
    Condition("4241", "AORTIC STENOSIS; VALVE REPLACEMENT", 4, 8, 0.97, 0.04, ("CSRU",), ("42731", "4280", "9971", "4240"), ("3521", "3961", "8872",
              "9904"),
              ("Warfarin", "Furosemide", "Metoprolol Tartrate", "Cefazolin", "Amiodarone"), {"Hematocrit": -1.5, "PT": 1.5, "INR(PT)": 1.8},
              {211: 0.5}, {"blood gas": 0.7, "clotting": 0.8}, 0.08, ("MRSA SCREEN", "BLOOD CULTURE"), 0.2, True),
    Condition("4280", "CONGESTIVE HEART FAILURE", 8, 5, 0.6, 0.08, ("CCU", "MICU"), ("42833", "42731", "40390", "5849"), ("8872", "9390", "3893"),
              ("Furosemide", "Lisinopril", "Metoprolol Tartrate", "Digoxin", "Spironolactone", "Potassium Chloride"),
              {"Urea Nitrogen": 1.4, "Creatinine": 1.0, "Sodium": -0.8}, {618: 1.2, 834: -1.2, 51: 0.4}, {"heart": 0.4}, 0.15),
    Condition("42731", "ATRIAL FIBRILLATION WITH RAPID RATE", 4, 3, 0.45, 0.02, ("CCU",), ("4280", "V5861", "4019"), ("9962", "8872"),
              ("Diltiazem", "Amiodarone", "Metoprolol Tartrate", "Warfarin", "Heparin Sodium"), {"PT": 1.6, "INR(PT)": 1.8, "Potassium": -0.6},
              {211: 3.2, 51: -0.5}, {"clotting": 0.8}, 0.05, ("URINE",)),
    Condition("41519", "PULMONARY EMBOLISM", 3, 5, 0.65, 0.06, ("MICU", "CCU"), ("45341", "51881", "V5861"), ("387", "8872", "9910"),
              ("Heparin Sodium", "Enoxaparin Sodium", "Warfarin", "Alteplase"), {"PTT": 2.0, "pO2": -1.4}, {211: 1.8, 618: 1.6, 834: -1.6},
              {"clotting": 0.9, "heart": 0.4}, 0.08),
    Condition("25013", "DIABETIC KETOACIDOSIS", 4, 3, 0.85, 0.02, ("MICU",), ("2762", "2767", "5849"), ("3893",),
              ("Insulin", "Insulin Glargine", "0.9% Sodium Chloride", "Potassium Chloride", "D5 1/2NS"),
              {"Glucose": 4.5, "Anion Gap": 3.5, "Bicarbonate": -3.2, "pH": -2.4, "Potassium": 1.4, "% Hemoglobin A1c": 6.0, "Sodium": -1.2},
              {211: 1.5, 618: 1.8}, {"blood gas": 0.6, "sugar": 0.4, "minerals": 0.95}, 0.15, ("URINE", "BLOOD CULTURE")),
    Condition("5789", "GASTROINTESTINAL BLEED", 6, 4, 0.8, 0.06, ("MICU", "SICU"), ("2851", "53240", "42731", "2875"), ("4516", "4523", "4513",
              "9904"),
              ("Pantoprazole", "Octreotide Acetate", "0.9% Sodium Chloride"), {"Hematocrit": -2.2, "Hemoglobin": -2.2, "Urea Nitrogen": 1.2},
              {211: 1.4, 51: -1.0, 52: -0.9}, {"clotting": 0.7}, 0.08, ("STOOL", "MRSA SCREEN")),
    Condition("4560", "VARICEAL BLEED", 3, 6, 0.92, 0.15, ("MICU",), ("5712", "5723", "2851", "2875"), ("4233", "9904", "9907", "9905", "9604"),
              ("Octreotide Acetate", "Pantoprazole", "Ceftriaxone", "Lactulose"),
              {"Hematocrit": -2.2, "Hemoglobin": -2.2, "Bilirubin, Total": 2.5, "Platelet Count": -2.0, "PT": 2.0, "Albumin": -1.6},
              {211: 1.6, 51: -1.2}, {"liver": 0.8, "clotting": 0.85}, 0.2, ("BLOOD CULTURE", "PERITONEAL FLUID")),
    Condition("5715", "LIVER FAILURE", 3, 8, 0.7, 0.2, ("MICU", "SICU"), ("5723", "5849", "2761", "2875"), ("5491", "9907"),
              ("Lactulose", "Spironolactone", "Furosemide", "Ciprofloxacin"),
              {"Bilirubin, Total": 3.5, "Albumin": -2.0, "PT": 2.4, "INR(PT)": 2.4, "Sodium": -1.5, "Asparate Aminotransferase (AST)": 2.0},
              {51: -0.8}, {"liver": 0.95, "clotting": 0.85}, 0.3, ("PERITONEAL FLUID", "BLOOD CULTURE", "URINE")),
    Condition("5770", "PANCREATITIS", 3, 7, 0.6, 0.05, ("SICU", "MICU"), ("2762", "29181", "5849"), ("5187", "966"),
              ("Hydromorphone", "Lactated Ringer's", "Meropenem", "Ondansetron"), {"Lipase": 4.5, "White Blood Cells": 1.5, "Calcium, Total": -1.6},
              {211: 1.4, 677: 0.8}, {"pancreas": 0.9, "liver": 0.7}, 0.2),
    Condition("56211", "DIVERTICULITIS; BOWEL SURGERY", 3, 8, 0.5, 0.05, ("SICU",), ("5609", "99591"), ("4562", "9904"),
              ("Ciprofloxacin", "Metronidazole", "Hydromorphone", "Ondansetron", "Enoxaparin Sodium"), {"White Blood Cells": 1.6}, {677: 1.2,
              211: 0.8},
              {}, 0.35, ("PERITONEAL FLUID", "SWAB", "BLOOD CULTURE"), 0.6, True),
    Condition("5849", "ACUTE RENAL FAILURE", 5, 6, 0.55, 0.1, ("MICU",), ("2767", "5859", "5990", "2762"), ("3895", "3995"),
              ("Calcium Gluconate", "Insulin", "0.9% Sodium Chloride", "Furosemide"),
              {"Creatinine": 6.0, "Urea Nitrogen": 3.6, "Potassium": 2.0, "Phosphate": 1.8, "Bicarbonate": -1.4}, {51: 0.5},
              {"minerals": 0.95, "urine": 0.5}, 0.2, ("URINE", "BLOOD CULTURE")),
    Condition("43491", "STROKE", 5, 6, 0.6, 0.1, ("MICU", "SICU"), ("42731", "4019", "2724"), ("9910", "8841", "966"),
              ("Aspirin", "Atorvastatin", "Alteplase", "Hydralazine", "Clopidogrel"), {"Glucose": 0.6}, {51: 1.4, 8368: 1.0, 52: 1.2},
              {"sugar": 0.5}, 0.12),
    Condition("431", "INTRACRANIAL HEMORRHAGE", 4, 8, 0.95, 0.25, ("SICU", "TSICU"), ("4019", "78039", "51881"), ("0131", "9604", "9671", "8841"),
              ("Levetiracetam", "Phenytoin", "Mannitol 20%", "Hydralazine", "Dexamethasone"), {"Sodium": 0.8, "Glucose": 0.9}, {51: 1.6, 52: 1.4},
              {"clotting": 0.7, "blood gas": 0.5}, 0.2, ("SPUTUM", "URINE", "CSF;SPINAL FLUID")),
    Condition("85221", "SUBDURAL HEMATOMA; FALL", 3, 6, 0.9, 0.1, ("TSICU", "SICU"), ("E8859", "78039", "V5861"), ("0131", "9671", "9907"),
              ("Phenytoin", "Levetiracetam", "Hydralazine"), {"PT": 0.8}, {51: 0.9}, {"clotting": 0.8}, 0.12),
    Condition("82021", "HIP FRACTURE", 4, 5, 0.25, 0.03, ("TSICU", "SICU"), ("E8859", "73300", "2859"), ("7935", "8152", "9904"),
              ("Enoxaparin Sodium", "Cefazolin", "Hydromorphone", "Bisacodyl"), {"Hematocrit": -1.4, "Hemoglobin": -1.4}, {}, {}, 0.1,
              ("URINE", "MRSA SCREEN"), 0.8),
    Condition("8600", "BLUNT TRAUMA", 3, 6, 0.85, 0.06, ("TSICU",), ("E8859", "2851", "82021"), ("3404", "9904", "9671"),
              ("Fentanyl Citrate", "Cefazolin", "Lactated Ringer's"), {"Hematocrit": -1.6, "Lactate": 1.4}, {211: 1.4, 51: -0.8}, {"blood gas": 0.6},
              0.15, ("MRSA SCREEN", "SPUTUM"), 0.95, True),
    Condition("29181", "ALCOHOL WITHDRAWAL", 3, 4, 0.6, 0.01, ("MICU",), ("3051", "2761", "2875", "78039"), ("9462",),
              ("Lorazepam", "Thiamine", "FoLIC Acid", "Multivitamins", "Haloperidol"),
              {"Magnesium": -1.6, "Phosphate": -1.2, "Asparate Aminotransferase (AST)": 1.6, "MCV": 1.4}, {211: 1.8, 51: 1.0, 677: 0.6},
              {"liver": 0.6, "minerals": 0.95}, 0.1),
    Condition("1623", "LUNG CANCER", 3, 6, 0.4, 0.15, ("MICU", "SICU"), ("1970", "1983", "41519", "2859"), ("3324", "3404"),
              ("Dexamethasone", "Morphine Sulfate", "Ondansetron", "Enoxaparin Sodium"), {"Calcium, Total": 1.4, "Albumin": -1.4}, {618: 1.0,
              834: -1.0},
              {"liver": 0.5}, 0.2, ("SPUTUM", "BLOOD CULTURE"), 0.6),
    Condition("6826", "CELLULITIS", 3, 4, 0.15, 0.01, ("MICU",), ("25000", "27800"), (), ("Vancomycin", "Cefazolin", "Nystatin Oral Suspension"),
              {"White Blood Cells": 1.2, "Glucose": 0.8}, {677: 1.0}, {}, 0.35, ("SWAB", "BLOOD CULTURE")),
    Condition("00845", "C. DIFFICILE COLITIS", 2, 7, 0.4, 0.07, ("MICU",), ("2761", "5849"), (), ("Metronidazole", "Vancomycin",
              "0.9% Sodium Chloride"),
              {"White Blood Cells": 2.4, "Potassium": -1.2, "Albumin": -1.2}, {677: 1.0, 211: 1.0}, {}, 0.6, ("STOOL", "BLOOD CULTURE")),
)  # fmt: skip

BACKGROUND_DIAGNOSES: tuple[tuple[str, float], ...] = (
    ("4019", 0.4), ("2724", 0.28), ("25000", 0.22), ("42731", 0.14), ("4280", 0.12), ("53081", 0.16), ("2449", 0.1), ("311", 0.1), ("V1582", 0.12),
    ("5859", 0.1), ("496", 0.09), ("2859", 0.12), ("27800", 0.07), ("32723", 0.06), ("49390", 0.06), ("V4581", 0.06), ("412", 0.06), ("3051", 0.06),
    ("5990", 0.08), ("2930", 0.05), ("7140", 0.03), ("73300", 0.05), ("5856", 0.03), ("V5861", 0.06), ("40390", 0.04), ("99662", 0.02), ("1977",
    0.015),
)  # fmt: skip
"""Diagnoses that anyone may have beside the reason for admission, and how often."""

BACKGROUND_DRUGS: tuple[tuple[str, float], ...] = (
    ("Acetaminophen", 0.6), ("Heparin Sodium", 0.45), ("Docusate Sodium", 0.5), ("Senna", 0.4), ("Pantoprazole", 0.35), ("Potassium Chloride", 0.4),
    ("Magnesium Sulfate", 0.35), ("Insulin", 0.3), ("0.9% Sodium Chloride", 0.4), ("5% Dextrose", 0.2), ("Morphine Sulfate", 0.2), ("Ondansetron",
    0.2),
    ("Famotidine", 0.2), ("Furosemide", 0.15), ("Metoprolol Tartrate", 0.2), ("Bisacodyl", 0.2), ("Lorazepam", 0.12), ("Calcium Gluconate", 0.1),
    ("Levothyroxine Sodium", 0.1), ("Sertraline", 0.06), ("Simvastatin", 0.12), ("Amlodipine", 0.1), ("Lisinopril", 0.1), ("Quetiapine", 0.05),
    ("Nicotine Patch", 0.05), ("Allopurinol", 0.04), ("Metformin", 0.06), ("Haloperidol", 0.04), ("Multivitamins", 0.08), ("Cefepime", 0.04),
)  # fmt: skip
"""Drugs that anyone may be given, and how often."""

INTENSIVE_DRUGS: tuple[tuple[str, float], ...] = (("Propofol", 0.35), ("Fentanyl Citrate", 0.4), ("Midazolam", 0.25), ("Norepinephrine", 0.15))
"""Drugs of intensive care, and how often."""
