"""Small ICU tables in the databases' own formats, with invented patients whose answers can be worked out by hand."""

import csv
import gzip
import io
from dataclasses import replace
from pathlib import Path

from healthgym.evaluation.ehr.build import settle, sql_answer
from healthgym.evaluation.ehr.checks import checks_of
from healthgym.evaluation.ehr.checks.rows import PatientRows
from healthgym.evaluation.ehr.schema import load_schema
from healthgym.evaluation.ehr.store import build_store
from healthgym.evaluation.ehr.template import ask_of, load_templates

MIMIC3_HEADERS = {
    "patients": "row_id,subject_id,gender,dob,dod,dod_hosp,dod_ssn,expire_flag",
    "admissions": "row_id,subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admission_location,"
    "discharge_location,insurance,language,religion,marital_status,ethnicity,edregtime,edouttime,diagnosis,"
    "hospital_expire_flag,has_chartevents_data",
    "icustays": "row_id,subject_id,hadm_id,icustay_id,dbsource,first_careunit,last_careunit,first_wardid,last_wardid,"
    "intime,outtime,los",
    "labevents": "row_id,subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom,flag",
    "chartevents": "row_id,subject_id,hadm_id,icustay_id,itemid,charttime,storetime,cgid,value,valuenum,valueuom,warning,"
    "error,resultstatus,stopped",
    "outputevents": "row_id,subject_id,hadm_id,icustay_id,charttime,itemid,value,valueuom,storetime,cgid,stopped,newbottle,"
    "iserror",
    "inputevents_mv": "row_id,subject_id,hadm_id,icustay_id,starttime,endtime,itemid,amount,amountuom,rate,rateuom,"
    "storetime,cgid,orderid,linkorderid,ordercategoryname,secondaryordercategoryname,ordercomponenttypedescription,"
    "ordercategorydescription,patientweight,totalamount,totalamountuom,isopenbag,continueinnextdept,cancelreason,"
    "statusdescription,comments_editedby,comments_canceledby,comments_date,originalamount,originalrate",
    "procedureevents_mv": "row_id,subject_id,hadm_id,icustay_id,starttime,endtime,itemid,value,valueuom,location,"
    "locationcategory,storetime,cgid,orderid,linkorderid,ordercategoryname,secondaryordercategoryname,"
    "ordercategorydescription,isopenbag,continueinnextdept,cancelreason,statusdescription,comments_editedby,"
    "comments_canceledby,comments_date",
    "prescriptions": "row_id,subject_id,hadm_id,icustay_id,startdate,enddate,drug_type,drug,drug_name_poe,"
    "drug_name_generic,formulary_drug_cd,gsn,ndc,prod_strength,dose_val_rx,dose_unit_rx,form_val_disp,form_unit_disp,route",
    "microbiologyevents": "row_id,subject_id,hadm_id,chartdate,charttime,spec_itemid,spec_type_desc,org_itemid,org_name,"
    "isolate_num,ab_itemid,ab_name,dilution_text,dilution_comparison,dilution_value,interpretation",
    "diagnoses_icd": "row_id,subject_id,hadm_id,seq_num,icd9_code",
    "d_items": "row_id,itemid,label,abbreviation,dbsource,linksto,category,unitname,param_type,conceptid",
    "d_labitems": "row_id,itemid,label,fluid,category,loinc_code",
}
EICU_HEADERS = {
    "patient": "patientunitstayid,patienthealthsystemstayid,gender,age,ethnicity,hospitalid,wardid,apacheadmissiondx,"
    "admissionheight,hospitaladmittime24,hospitaladmitoffset,hospitaladmitsource,hospitaldischargeyear,"
    "hospitaldischargetime24,hospitaldischargeoffset,hospitaldischargelocation,hospitaldischargestatus,unittype,"
    "unitadmittime24,unitadmitsource,unitvisitnumber,unitstaytype,admissionweight,dischargeweight,unitdischargetime24,"
    "unitdischargeoffset,unitdischargelocation,unitdischargestatus,uniquepid",
    "apacheapsvar": "apacheapsvarid,patientunitstayid,intubated,vent,dialysis,eyes,motor,verbal,meds,urine,wbc,temperature,"
    "respiratoryrate,sodium,heartrate,meanbp,ph,hematocrit,creatinine,albumin,pao2,pco2,bun,glucose,bilirubin,fio2",
    "apachepatientresult": "apachepatientresultsid,patientunitstayid,physicianspeciality,physicianinterventioncategory,"
    "acutephysiologyscore,apachescore,apacheversion,predictedicumortality,actualicumortality,predictediculos,actualiculos,"
    "predictedhospitalmortality",
    "apachepredvar": "apachepredvarid,patientunitstayid,sicuday,admitdiagnosis,electivesurgery,ventday1,diabetes",
    "infusiondrug": "infusiondrugid,patientunitstayid,infusionoffset,drugname,drugrate,infusionrate,drugamount,"
    "volumeoffluid,patientweight",
    "intakeoutput": "intakeoutputid,patientunitstayid,intakeoutputoffset,intaketotal,outputtotal,dialysistotal,nettotal,"
    "intakeoutputentryoffset,cellpath,celllabel,cellvaluenumeric,cellvaluetext",
    "vitalaperiodic": "vitalaperiodicid,patientunitstayid,observationoffset,noninvasivesystolic,noninvasivediastolic,"
    "noninvasivemean,paop,cardiacoutput,cardiacinput,svr,svri,pvr,pvri",
    "respiratorycharting": "respchartid,patientunitstayid,respchartoffset,respchartentryoffset,respcharttypecat,"
    "respchartvaluelabel,respchartvalue",
    "medication": "medicationid,patientunitstayid,drugorderoffset,drugstartoffset,drugivadmixture,drugordercancelled,"
    "drugname,drughiclseqno,dosage,routeadmin,frequency,loadingdose,prn,drugstopoffset,gtc",
    "microlab": "microlabid,patientunitstayid,culturetakenoffset,culturesite,organism,antibiotic,sensitivitylevel",
}
DAY1, DAY2, DAY3 = "2150-01-01", "2150-01-02", "2150-01-03"


def mimic3_rows():
    """Three ICU stays. Patient 1: stays 1000 and 1001 of admission 100, then admission 101. Patient 2: stay 2000."""
    one = {"subject_id": 1, "hadm_id": 100}
    stay = {**one, "icustay_id": 1000}
    two = {"subject_id": 2, "hadm_id": 200}

    def lab(item, when, number, who=one, **more):
        return {
            **who,
            "itemid": item,
            "charttime": when,
            "valuenum": number,
            **more,
        }

    def chart(item, when, value, **more):
        return {
            **stay,
            "itemid": item,
            "charttime": when,
            "valuenum": value,
            "error": 0,
            **more,
        }

    out = lambda item, when, value, **more: {**stay, "itemid": item, "charttime": when, "value": value, **more}  # noqa: E731
    run = lambda item, start, end, rate=None, uom="mcg/kg/min", status="FinishedRunning": {  # noqa: E731
        **stay, "itemid": item, "starttime": start, "endtime": end, "rate": rate, "rateuom": uom,
        "statusdescription": status,
    }  # fmt: skip
    gcs = lambda when, eyes, verbal, motor, **more: [  # noqa: E731
        chart(item, when, value, **more)
        for item, value in ((220739, eyes), (223900, verbal), (223901, motor))
        if value is not None
    ]
    return {
        "patients": [
            {"subject_id": 1, "gender": "F", "dob": "2090-01-01 00:00:00", "expire_flag": 0},
            {"subject_id": 2, "gender": "M", "dob": "2095-01-01 00:00:00", "expire_flag": 1},
        ],
        "admissions": [
            {**one, "admittime": f"{DAY1} 08:00:00", "dischtime": "2150-01-10 12:00:00", "discharge_location": "SNF",
             "diagnosis": 'SEPSIS, "SHOCK"', "hospital_expire_flag": 0},
            {"subject_id": 1, "hadm_id": 101, "admittime": "2150-02-05 09:00:00", "dischtime": "2150-02-08 09:00:00",
             "discharge_location": "HOME", "hospital_expire_flag": 0},
            {**two, "admittime": "2160-05-01 00:00:00", "dischtime": "2160-05-04 00:00:00",
             "discharge_location": "DEAD/EXPIRED", "hospital_expire_flag": 1},
        ],
        "icustays": [
            {**stay, "dbsource": "metavision", "intime": f"{DAY1} 10:00:00", "outtime": f"{DAY3} 16:00:00", "los": 2.25},
            {**one, "icustay_id": 1001, "dbsource": "metavision", "intime": "2150-01-05 00:00:00",
             "outtime": "2150-01-05 12:00:00", "los": 0.5},
            {**two, "icustay_id": 2000, "dbsource": "carevue", "intime": "2160-05-01 06:00:00",
             "outtime": "2160-05-04 00:00:00", "los": 2.75},
        ],
        "labevents": [
            lab(50813, f"{DAY1} 10:00:00", 4.2), lab(50813, f"{DAY2} 09:59:59", 2.6), lab(50813, f"{DAY2} 09:59:59", 2.1),
            lab(50813, f"{DAY2} 10:00:00", 1.5),
            lab(50912, "2149-12-30 08:00:00", 1.0), lab(50912, f"{DAY1} 10:10:00", None, value="LESS THAN 0.4"),
            lab(50912, f"{DAY1} 10:30:00", 1.4), lab(50912, f"{DAY1} 22:00:00", 2.1), lab(50912, f"{DAY2} 20:00:00", 3.1),
            lab(51222, f"{DAY1} 11:00:00", 12.0), lab(51222, f"{DAY3} 15:00:00", 9.5), lab(51222, "2150-01-04 09:00:00", 8.0),
            lab(51265, f"{DAY1} 12:00:00", 90), lab(51265, f"{DAY1} 20:00:00", 45), lab(50885, f"{DAY1} 12:00:00", 2.0),
            lab(50912, "2160-05-01 12:00:00", 0.8, two), lab(51222, "2160-05-01 12:00:00", 11.1, two),
        ],
        "chartevents": [
            chart(226512, f"{DAY1} 10:05:00", 700, error=1), chart(226512, f"{DAY1} 10:20:00", 70.5),
            chart(226512, f"{DAY1} 11:20:00", 71.5), chart(220181, f"{DAY1} 11:00:00", 65),
            *gcs(f"{DAY1} 11:00:00", 3, 1, 5), *gcs(f"{DAY1} 12:00:00", 1, 1, 1, error=1),
            *gcs(f"{DAY1} 13:00:00", 2, 1, None), *gcs(f"{DAY1} 23:00:00", 4, 5, 6),
            {**two, "icustay_id": 2000, "itemid": 762, "charttime": "2160-05-01 07:00:00", "valuenum": 61.2},
        ],
        "outputevents": [
            out(226559, f"{DAY1} 12:00:00", 150), out(226559, f"{DAY1} 18:00:00", 200), out(227488, f"{DAY1} 18:00:00", 500),
            out(226559, f"{DAY1} 19:00:00", 400, iserror=1), out(226559, f"{DAY2} 10:00:00", 100),
        ],
        "inputevents_mv": [
            run(221906, f"{DAY1} 10:30:00", f"{DAY1} 12:30:00", 0.08), run(221906, f"{DAY1} 12:00:00", f"{DAY1} 12:30:00", 0.2),
            run(221749, f"{DAY1} 12:15:00", f"{DAY1} 13:00:00", 1.0),
            run(222315, f"{DAY1} 14:00:00", f"{DAY1} 15:00:00", 2.4, "units/hour"),
            run(221906, f"{DAY1} 20:00:00", f"{DAY1} 23:00:00", 0.5, status="Rewritten"),
            run(221906, f"{DAY3} 15:30:00", f"{DAY3} 17:30:00", 0.05),
            run(225798, f"{DAY1} 09:00:00", f"{DAY1} 09:30:00"),
            run(225798, f"{DAY1} 10:05:00", f"{DAY1} 10:06:00", status="Rewritten"),
            run(225798, f"{DAY1} 11:45:30", f"{DAY1} 12:45:00"),
        ],
        "procedureevents_mv": [
            run(225792, f"{DAY1} 10:00:00", f"{DAY1} 16:00:00"), run(225792, f"{DAY1} 15:00:00", f"{DAY1} 18:30:00"),
            run(225794, f"{DAY1} 20:00:00", f"{DAY1} 21:00:00"),
        ],
        "prescriptions": [
            {**one, "drug_type": kind, "drug": drug, "startdate": f"{DAY1} 00:00:00"}
            for kind, drug in (("MAIN", "Heparin"), ("MAIN", "Heparin"), ("MAIN", "Aspirin"), ("BASE", "NS"))
        ],
        "microbiologyevents": [
            {**one, "chartdate": f"{DAY1} 00:00:00", "spec_type_desc": "BLOOD CULTURE", "org_name": "ESCHERICHIA COLI", "ab_name": drug}
            for drug in ("CEFEPIME", "AMPICILLIN")
        ] + [
            {**one, "chartdate": f"{DAY1} 00:00:00", "spec_type_desc": "URINE", "org_name": "YEAST"},
            {**one, "chartdate": f"{DAY1} 00:00:00", "spec_type_desc": "BLOOD CULTURE"},
            {**two, "chartdate": "2160-05-01 00:00:00", "spec_type_desc": "BLOOD CULTURE"},
        ],
        "diagnoses_icd": [
            {**one, "seq_num": 2, "icd9_code": "5849"}, {**one, "seq_num": 1, "icd9_code": "0389"},
            {**two, "seq_num": 1, "icd9_code": "486"},
        ],
        "d_items": [
            {"itemid": 225798, "label": "Vancomycin", "category": "Antibiotics"},
            {"itemid": 221906, "label": "Norepinephrine", "category": "Medications"},
        ],
        "d_labitems": [{"itemid": 50813, "label": "Lactate"}, {"itemid": 50912, "label": "Creatinine"}],
    }  # fmt: skip


def eicu_rows():
    """Three ICU stays. Patient A-1: stays 11 and 12 of one hospital stay. Patient B-2: stay 21."""
    eleven, twelve, last = ({"patientunitstayid": stay} for stay in (11, 12, 21))
    path = "flowsheet|Flowsheet Cell Labels|I&O|Output (ml)|Urine"
    drip = lambda offset, name, rate, who=eleven: {**who, "infusionoffset": offset, "drugname": name, "drugrate": rate}  # noqa: E731
    fluid = lambda offset, net, label, value, where=path, who=eleven: {  # noqa: E731
        **who, "intakeoutputoffset": offset, "nettotal": net, "celllabel": label, "cellvaluenumeric": value,
        "cellpath": where,
    }  # fmt: skip
    return {
        "patient": [
            {**eleven, "patienthealthsystemstayid": 5, "uniquepid": "A-1", "age": "70", "unitvisitnumber": 1,
             "unitdischargeoffset": 3000, "unitdischargelocation": "Floor", "admissionweight": 80, "admissionheight": 200},
            {**twelve, "patienthealthsystemstayid": 5, "uniquepid": "A-1", "age": "70", "unitvisitnumber": 2, "unitstaytype": "readmit",
             "unitdischargeoffset": 600, "unitdischargelocation": "Home", "admissionheight": 200},
            {**last, "patienthealthsystemstayid": 6, "uniquepid": "B-2", "age": "> 89", "unitvisitnumber": 1,
             "unitdischargeoffset": 1500, "admissionweight": 50, "admissionheight": 0},
        ],
        "apacheapsvar": [
            {**eleven, "eyes": 3, "motor": 5, "verbal": 1, "creatinine": 1.04},
            {**last, "eyes": -1, "motor": -1, "verbal": -1, "creatinine": -1},
        ],
        "apachepatientresult": [
            {**eleven, "apacheversion": "IV", "apachescore": 46}, {**eleven, "apacheversion": "IVa", "apachescore": 47},
            {**last, "apacheversion": "IVa", "apachescore": -1},
        ],
        "apachepredvar": [{**eleven, "admitdiagnosis": "SEPSISPULM"}, last],
        "infusiondrug": [
            drip(-10, "Norepinephrine (mcg/min)", "50"), drip(20, "Norepinephrine (ml/hr)", "OFF"),
            drip(45, "NOREPINEPHRINE (ml/hr)", "7.5"), drip(60, "Norepinephrine (mcg/min)", "8"),
            drip(90, "Norepinephrine (mcg/min)", "12.5"),
            drip(95, "Norepinephrine STD 4 mg Dextrose 5% 250 ml (mcg/min)", "13.5"), drip(120, "Norepinephrine (mcg/kg/min)", "99"),
            drip(3001, "Norepinephrine (mcg/min)", "40"), drip(10, "Propofol (mcg/kg/min)", "20", last),
        ],
        "intakeoutput": [
            fluid(0, 200, "Urine", 300), fluid(0, 200, "P.O.", 500, "flowsheet|Intake (ml)|P.O."),
            fluid(100, -150, "URINE CATHETER", 150),
            fluid(100, -150, "Urinary Catheter Output: Condom External", 25), fluid(100, -150, "unmeasured voids", 2), fluid(200, 0, "Urine Count", 1), fluid(1440, -75, "Urine", 75),
            fluid(-5, -60, "Urine", 60), fluid(300, 40, "Urine", 40, "flowsheet|Intake (ml)|Urine"),
        ],
        "vitalaperiodic": [
            {**eleven, "observationoffset": offset, "noninvasivemean": value}
            for offset, value in ((-1, 40), (0, 71), (700, 62), (800, 0), (900, None), (1440, 50))
        ],
        "respiratorycharting": [
            {**eleven, "respchartoffset": offset, "respchartvaluelabel": label, "respchartvalue": value}
            for offset, label, value in (
                (10, "FiO2", "40"), (20, "FiO2", "60%"), (30, "FiO2", "0.9"), (40, "PEEP", "95"), (1440, "FiO2", "100"),
            )
        ],
        "medication": [
            {**eleven, "drugorderoffset": 0, "drugstartoffset": offset, "drugordercancelled": cancelled, "drugname": name}
            for offset, cancelled, name in (
                (0, "No", "HEPARIN"), (60, "No", "HEPARIN"), (100, "No", "ASPIRIN"), (100, "Yes", "MORPHINE"),
                (100, "No", None), (1440, "No", "DIGOXIN"),
            )
        ],
        "microlab": [
            {**eleven, "culturetakenoffset": 5, "organism": "no growth"},
            {**eleven, "culturetakenoffset": 9, "organism": "yeast"}, {**last, "culturetakenoffset": 5, "organism": "no growth"},
            {**twelve, "culturetakenoffset": 5},
        ],
    }  # fmt: skip


def write_tables(folder, database, *, upper=False, zipped=True, rows=None):
    """Write the tables as the database publishes them; MIMIC-III v1.4 has upper-case names and quoted headers."""
    headers = MIMIC3_HEADERS if database == "mimic3" else EICU_HEADERS
    rows = rows if rows is not None else mimic3_rows() if database == "mimic3" else eicu_rows()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, header in headers.items():
        columns = header.split(",")
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC if upper else csv.QUOTE_MINIMAL, lineterminator="\n")
        writer.writerow([column.upper() if upper else column for column in columns])
        key = load_schema(database).tables[name].key
        for number, row in enumerate(rows.get(name, ()), 1):
            row = {key: number, **row}
            writer.writerow(["" if row.get(column) is None else row[column] for column in columns])
        path = folder / f"{name.upper() if upper else name}.csv{'.gz' if zipped else ''}"
        data = text.getvalue().encode()
        path.write_bytes(gzip.compress(data, mtime=0) if zipped else data)
    return folder


def answers(folder, database, name, hours=None):
    """Return by unit the answer of a template's query and of its check; `hours` sets the window."""
    store = build_store(folder, load_schema(database))
    template = load_templates(database)[name]
    if hours is not None:
        template = replace(template, hours=(hours,))
    cursor = store.connection.execute(store.schema.units[template.units])
    columns = [column[0] for column in cursor.description]
    found = {}
    for values in cursor.fetchall():
        asked = ask_of(template, dict(zip(columns, values, strict=True)), 0)
        patient = store.patient_of[asked.owner]
        rows = PatientRows(lambda table, patient=patient: store.rows_of(patient, table))
        check = settle(template, checks_of(database)[name](rows, asked.fields))
        found[asked.unit] = (sql_answer(store, asked), check)
    return found
