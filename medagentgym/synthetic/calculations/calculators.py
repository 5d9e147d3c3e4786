"""The calculators of the made-up questions: what each needs to know, what it asks, and how it is calculated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from medagentgym.synthetic.calculations import formulas
from medagentgym.synthetic.calculations.patients import Ages, Facts

Value = float | int | date | tuple[int, int]


@dataclass(frozen=True)
class Calculator:
    """A calculator under the name that MedCalc-Bench gives it."""

    name: str
    category: str
    question: str
    needs: tuple[str, ...]
    """The facts that `calculate` is given, in its order."""
    calculate: Callable[..., Value]
    method: str
    """How it is calculated, in words."""
    ages: Ages = "adult"
    """Whose it is."""

    def value(self, facts: Facts) -> Value:
        """The value for a patient."""
        return self.calculate(*(facts[name] for name in self.needs))


_SALTS = ("sodium", "chloride", "bicarbonate")
_BODY = ("weight", "height")
_ECG = ("qt_interval", "heart_rate")
_GAP = "sodium - (chloride + bicarbonate)"
_RR = "with RR = 60 / heart rate in seconds"
_IDEAL = "ideal weight = 50 kg (men) or 45.5 kg (women) + 2.3 kg for every inch of height over 60 inches"

CALCULATORS = (
    Calculator(
        "Mean Arterial Pressure (MAP)",
        "physical",
        "What is the patient's mean arterial pressure in mmHg?",
        ("systolic", "diastolic"),
        formulas.mean_arterial_pressure,
        "(systolic + 2 * diastolic) / 3.",
    ),
    Calculator(
        "Body Mass Index (BMI)", "physical", "What is the patient's body mass index in kg/m²?", _BODY, formulas.body_mass_index, "weight / height²."
    ),
    Calculator(
        "Target weight",
        "physical",
        "What weight in kg gives the patient the body mass index that is the goal?",
        ("target_index", "height"),
        formulas.target_weight,
        "body mass index * height².",
    ),
    Calculator(
        "Body Surface Area Calculator",
        "physical",
        "What is the patient's body surface area in m² by Mosteller's formula?",
        _BODY,
        formulas.body_surface_area,
        "√(weight in kg * height in cm / 3600).",
    ),
    Calculator(
        "Ideal Body Weight",
        "physical",
        "What is the patient's ideal body weight in kg by Devine's formula?",
        ("sex", "height"),
        formulas.ideal_body_weight,
        f"{_IDEAL}.",
    ),
    Calculator(
        "Adjusted Body Weight",
        "physical",
        "What is the patient's adjusted body weight in kg?",
        ("sex", "weight", "height"),
        formulas.adjusted_body_weight,
        f"ideal weight + 0.4 * (weight - ideal weight); {_IDEAL}.",
    ),
    Calculator(
        "Maintenance Fluids Calculations",
        "dosage",
        "How many mL of maintenance fluid does the patient need in an hour?",
        ("weight",),
        formulas.maintenance_fluids,
        "4 mL/h for each of the first 10 kg, 2 mL/h for each of the next 10 kg, 1 mL/h for each kg above.",
        ages="child",
    ),
    Calculator(
        "QTc Bazett Calculator",
        "physical",
        "What is the corrected QT interval in ms by Bazett's formula?",
        _ECG,
        formulas.qtc_bazett,
        f"QT / √RR, {_RR}.",
    ),
    Calculator(
        "QTc Fridericia Calculator",
        "physical",
        "What is the corrected QT interval in ms by Fridericia's formula?",
        _ECG,
        formulas.qtc_fridericia,
        f"QT / RR^(1/3), {_RR}.",
    ),
    Calculator(
        "QTc Framingham Calculator",
        "physical",
        "What is the corrected QT interval in ms by the Framingham formula?",
        _ECG,
        formulas.qtc_framingham,
        f"QT + 154 * (1 - RR), {_RR}.",
    ),
    Calculator(
        "QTc Hodges Calculator",
        "physical",
        "What is the corrected QT interval in ms by Hodges' formula?",
        _ECG,
        formulas.qtc_hodges,
        "QT + 1.75 * (heart rate - 60).",
    ),
    Calculator(
        "QTc Rautaharju Calculator",
        "physical",
        "What is the corrected QT interval in ms by Rautaharju's formula?",
        _ECG,
        formulas.qtc_rautaharju,
        "QT * (120 + heart rate) / 180.",
    ),
    Calculator(
        "Creatinine Clearance (Cockcroft-Gault Equation)",
        "lab test",
        "What is the patient's creatinine clearance in mL/min by the Cockcroft-Gault equation? Take the actual weight of an underweight "
        "patient, the lesser of actual and ideal weight at a normal body mass index, and the adjusted weight of an overweight patient.",
        ("sex", "age", "weight", "height", "creatinine"),
        formulas.creatinine_clearance,
        f"(140 - age) * weight * (0.85 for women) / (72 * creatinine in mg/dL); {_IDEAL}; adjusted weight = ideal weight + 0.4 * (weight - ideal "
        "weight).",
    ),
    Calculator(
        "CKD-EPI Equations for Glomerular Filtration Rate",
        "lab test",
        "What is the patient's glomerular filtration rate in mL/min/1.73 m² by the CKD-EPI creatinine equation of 2021?",
        ("sex", "age", "creatinine"),
        formulas.glomerular_filtration_rate,
        "142 * min(Scr/kappa, 1)^alpha * max(Scr/kappa, 1)^-1.2 * 0.9938^age * (1.012 for women); kappa = 0.7 (women), "
        "0.9 (men); alpha = -0.241 (women), -0.302 (men).",
    ),
    Calculator(
        "Fractional Excretion of Sodium (FENa)",
        "lab test",
        "What is the patient's fractional excretion of sodium in per cent?",
        ("sodium", "creatinine", "urine_sodium", "urine_creatinine"),
        formulas.fractional_sodium_excretion,
        "100 * urine sodium * creatinine / (sodium * urine creatinine).",
    ),
    Calculator(
        "Free Water Deficit",
        "lab test",
        "What is the patient's free water deficit in litres, against a sodium of 140 mEq/L?",
        ("sex", "age", "weight", "sodium"),
        formulas.free_water_deficit,
        "body water * weight * (sodium / 140 - 1); body water is 0.6 for children and men, 0.5 for women and men over 65, 0.45 for women over 65.",
    ),
    Calculator(
        "Serum Osmolality",
        "lab test",
        "What is the patient's serum osmolality in mOsm/kg?",
        ("sodium", "urea_nitrogen", "glucose"),
        formulas.serum_osmolality,
        "2 * sodium + blood urea nitrogen / 2.8 + glucose / 18, both in mg/dL.",
    ),
    Calculator(
        "Sodium Correction for Hyperglycemia",
        "lab test",
        "What is the patient's sodium in mEq/L, corrected for hyperglycemia?",
        ("sodium", "glucose"),
        formulas.corrected_sodium,
        "sodium + 0.024 * (glucose in mg/dL - 100).",
    ),
    Calculator(
        "Calcium Correction for Hypoalbuminemia",
        "lab test",
        "What is the patient's calcium in mg/dL, corrected for an albumin of 4 g/dL?",
        ("calcium", "albumin"),
        formulas.corrected_calcium,
        "calcium in mg/dL + 0.8 * (4 - albumin in g/dL).",
    ),
    Calculator("Anion Gap", "lab test", "What is the patient's anion gap in mEq/L?", _SALTS, formulas.anion_gap, f"{_GAP}."),
    Calculator(
        "Albumin Corrected Anion Gap",
        "lab test",
        "What is the patient's albumin-corrected anion gap in mEq/L?",
        (*_SALTS, "albumin"),
        formulas.albumin_corrected_anion_gap,
        f"{_GAP} + 2.5 * (4 - albumin in g/dL).",
    ),
    Calculator("Delta Gap", "lab test", "What is the patient's delta gap in mEq/L?", _SALTS, formulas.delta_gap, f"{_GAP} - 12."),
    Calculator("Delta Ratio", "lab test", "What is the patient's delta ratio?", _SALTS, formulas.delta_ratio, f"({_GAP} - 12) / (24 - bicarbonate)."),
    Calculator(
        "Fibrosis-4 (FIB-4) Index for Liver Fibrosis",
        "lab test",
        "What is the patient's Fibrosis-4 (FIB-4) index?",
        ("age", "ast", "alt", "platelets"),
        formulas.fibrosis_4,
        "age * AST / (platelets in 10^9/L * √ALT).",
    ),
    Calculator(
        "LDL Calculated",
        "lab test",
        "What is the patient's LDL cholesterol in mg/dL by Friedewald's formula?",
        ("total_cholesterol", "hdl", "triglycerides"),
        formulas.ldl_cholesterol,
        "total cholesterol - HDL cholesterol - triglycerides / 5, all in mg/dL.",
    ),
    Calculator(
        "HOMA-IR (Homeostatic Model Assessment for Insulin Resistance)",
        "lab test",
        "What is the patient's HOMA-IR?",
        ("glucose", "insulin"),
        formulas.homa_ir,
        "glucose in mg/dL * insulin in µIU/mL / 405.",
    ),
    Calculator(
        "Estimated Due Date",
        "date",
        "What is the patient's estimated due date by Naegele's rule, with the length of her cycle? Answer as month/day/year.",
        ("last_period", "cycle"),
        formulas.due_date,
        "280 days after the first day of the last menstrual period, plus the days by which the cycle is longer than 28.",
    ),
    Calculator(
        "Estimated of Conception",
        "date",
        "What is the patient's estimated date of conception, with the length of her cycle? Answer as month/day/year.",
        ("last_period", "cycle"),
        formulas.conception_date,
        "14 days before the next menstrual period was due.",
    ),
    Calculator(
        "Estimated Gestational Age",
        "date",
        "What is the patient's gestational age by her last menstrual period? Answer as a tuple of weeks and days.",
        ("last_period", "today"),
        formulas.gestational_age,
        "weeks and days since the first day of the last menstrual period.",
    ),
    Calculator(
        "CURB-65 Score for Pneumonia Severity",
        "severity",
        "What is the patient's CURB-65 score?",
        ("age", "confusion", "urea_nitrogen", "respiratory_rate", "systolic", "diastolic"),
        formulas.curb_65,
        "one point each for confusion, blood urea nitrogen over 19 mg/dL, 30 breaths/min or more, a systolic pressure under 90 or a diastolic one of "
        "60 mmHg or less, and an age of 65 or more.",
    ),
    Calculator(
        "SIRS Criteria",
        "diagnosis",
        "How many of the four SIRS criteria does the patient meet?",
        ("temperature", "heart_rate", "respiratory_rate", "white_cells"),
        formulas.sirs_criteria,
        "a temperature over 38 or under 36 °C, a heart rate over 90, more than 20 breaths/min, more than 12 or fewer than 4 * 10^9/L white cells.",
    ),
    Calculator(
        "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk",
        "risk",
        "The patient has atrial fibrillation. What is the CHA2DS2-VASc score?",
        ("sex", "age", "heart_failure", "hypertension", "diabetes", "stroke", "vascular_disease"),
        formulas.cha2ds2_vasc,
        "one point each for heart failure, hypertension, diabetes, vascular disease, female sex and an age of 65 to 74; two for a stroke and for "
        "an age of 75 or more.",
    ),
    Calculator(
        "Centor Score (Modified/McIsaac) for Strep Pharyngitis",
        "diagnosis",
        "The patient has a sore throat. What is the Centor score with McIsaac's modification for age?",
        ("age", "temperature", "cough", "exudate", "nodes"),
        formulas.centor,
        "one point each for an age of 3 to 14, a temperature over 38 °C, no cough, exudate on the tonsils, and tender anterior cervical nodes; one "
        "less from the age of 45.",
        ages="any",
    ),
)
