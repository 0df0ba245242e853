"""Regions: GeoNames' first-level codes as ISO 3166-2, where holidays differ by region.

A table of ours, country by country: `code=ISO suffix`, or the bare code where both are the same.
Each row was matched by the largest cities of the code; `tests/gazetteer` checks one city of each
region. Alsace and Moselle, whose holidays differ from the rest of their region, are outlined
(about 3 km). Countries that are not here have no region: null.
"""

from __future__ import annotations

from collections.abc import Mapping

from location_context.gazetteer.zones import Outline, inside

_TABLE = {
    "AD": "02 03 04 05 06 07 08",
    "AM": "01=AG 02=AR 03=AV 04=GR 05=KT 06=LO 07=SH 08=SU 09=TV 10=VD 11=ER",
    "AR": "01=B 02=K 03=H 04=U 05=X 06=W 07=C 08=E 09=P 10=Y 11=L 12=F 13=M 14=N 15=Q 16=R 17=A "
    "18=J 19=D 20=Z 21=S 22=G 23=V 24=T",
    "AT": "01=1 02=2 03=3 04=4 05=5 06=6 07=7 08=8 09=9",
    "AU": "01=ACT 02=NSW 03=NT 04=QLD 05=SA 06=TAS 07=VIC 08=WA",
    "BA": "01=BIH 02=SRP BRC",
    "BE": "BRU VLG WAL",
    "BO": "01=H 02=C 03=B 04=L 05=O 06=N 07=P 08=S 09=T",
    "BQ": "BO SB=SA SE",
    "BR": "01=AC 02=AL 03=AP 04=AM 05=BA 06=CE 07=DF 08=ES 11=MS 13=MA 14=MT 15=MG 16=PA 17=PB "
    "18=PR 20=PI 21=RJ 22=RN 23=RS 24=RO 25=RR 26=SC 27=SP 28=SE 29=GO 30=PE 31=TO",
    "BT": "05=33 06=12 07=21 08=22 09=31 10=13 11=44 12=42 13=11 14=43 15=23 16=14 17=45 18=34 "
    "19=41 20=15 21=32 22=24 23=GA 24=TY",
    "CA": "01=AB 02=BC 03=MB 04=NB 05=NL 07=NS 08=ON 09=PE 10=QC 11=SK 12=YT 13=NT 14=NU",
    "CH": "AG AI AR BE BL BS FR GE GL GR JU LU NE NW OW SG SH SO SZ TG TI UR VD VS ZG ZH",
    "CL": "01=VS 02=AI 03=AN 04=AR 05=AT 06=BI 07=CO 08=LI 10=MA 11=ML 12=RM 14=LL 15=TA 16=AP "
    "17=LR 18=NB",
    "CV": "01=BV 02=BR 04=MA 05=PA 07=RG 08=SL 11=SV 13=MO 14=PR 15=CA 16=CR 17=SD 18=SF 19=SM "
    "20=TA 21=PN 22=RB 23=RS 24=CF 25=SO 26=SS 27=TS",
    "CZ": "52=10 78=64 79=31 80=63 81=41 82=52 83=51 84=71 85=80 86=53 87=32 88=20 89=42 90=72",
    "DE": "01=BW 02=BY 03=HB 04=HH 05=HE 06=NI 07=NW 08=RP 09=SL 10=SH 11=BB 12=MV 13=SN 14=ST "
    "15=TH 16=BE",
    "ES": "07=IB 27=RI 29=MD 31=MC 32=NC 34=AS 39=CB 51=AN 52=AR 53=CN 54=CM 55=CL 56=CT 57=EX "
    "58=GA 59=PV 60=VC CE ML",
    "FI": "01=18 02=19 04=17 05=06 06=11 07=16 08=09 09=02 10=04 11=15 12=13 13=08 14=03 15=12 "
    "16=07 17=14 18=05 19=10",
    "FM": "01=KSA 02=PNI 03=TRK 04=YAP",
    "FR": "11=IDF 24=CVL 27=BFC 28=NOR 32=HDF 44=GES 52=PDL 53=BRE 75=NAQ 76=OCC 84=ARA 93=PAC "
    "94=20R",
    "GB": "ENG NIR SCT WLS",
    "GQ": "03=AN 04=BN 05=BS 06=CS 07=KN 08=LI 09=WN 10=DJ",
    "IN": "01=AN 02=AP 03=AS 05=CH 07=DL 09=GJ 10=HR 11=HP 12=JK 13=KL 14=LD 16=MH 17=MN 18=ML "
    "19=KA 20=NL 21=OD 22=PY 23=PB 24=RJ 25=TN 26=TR 28=WB 29=SK 30=AR 31=MZ 33=GA 34=BR 35=MP "
    "36=UP 37=CG 38=JH 39=UK 40=TS 41=LA 52=DH",
    "IT": "01=65 02=77 03=78 04=72 05=45 06=36 07=62 08=42 09=25 10=57 11=67 12=21 13=75 14=88 "
    "15=82 16=52 17=32 18=55 19=23 20=34",
    "MY": "01 02 03 04 05 06 07=08 08=09 09=07 11=13 12=10 13=11 14 15 16=12 17=16",
    "NI": "01=BO 02=CA 03=CI 04=CO 05=ES 06=GR 07=JI 08=LE 09=MD 10=MN 11=MS 12=MT 13=NS 14=SJ "
    "15=RI 17=AN 18=AS",
    "NL": "01=DR 02=FR 03=GE 04=GR 05=LI 06=NB 07=NH 09=UT 10=ZE 11=ZH 15=OV 16=FL",
    "NO": "01=32 04=33 05=56 08=15 09=18 12=03 13=31 14=11 17=40 18=55 20=39 21=50 34 42 46",
    "NZ": "10=CIT E7=AUK E8=BOP E9=CAN F1=GIS F2=HKB F3=MWT F4=MBH F5=NSN F6=NTL F7=OTA F8=STL "
    "F9=TKI G1=WKO G2=WGN G3=WTC TAS",
    "PL": "72=02 73=04 74=10 75=06 76=08 77=12 78=14 79=16 80=18 81=20 82=22 83=24 84=26 85=28 "
    "86=30 87=32",
    "PT": "02=01 03=02 04=03 05=04 06=05 07=06 08=07 09=08 10=30 11=09 13=10 14=11 16=12 17=13 "
    "18=14 19=15 20=16 21=17 22=18 23=20",
    "RO": "01=AB 02=AR 03=AG 04=BC 05=BH 06=BN 07=BT 08=BR 09=BV 10=B 11=BZ 12=CS 13=CJ 14=CT "
    "15=CV 16=DB 17=DJ 18=GL 19=GJ 20=HR 21=HD 22=IL 23=IS 25=MM 26=MH 27=MS 28=NT 29=OT 30=PH "
    "31=SJ 32=SM 33=SB 34=SV 35=TR 36=TM 37=TL 38=VS 39=VL 40=VN 41=CL 42=GR 43=IF",
    "SB": "03=ML 06=GU 07=IS 08=MK 09=TE 10=CE 11=WE 12=CH 14=CT",
    "SH": "01=AC 02=HL 03=TA",
    "SK": "01=BC 02=BL 03=KI 04=NI 05=PV 06=TC 07=TA 08=ZI",
    "ST": "01=P",
    "SV": "01=AH 02=CA 03=CH 04=CU 05=LI 06=PA 07=UN 08=MO 09=SM 10=SS 11=SA 12=SV 13=SO 14=US",
    "TV": "FUN NIT NKF NMG NUI VAI",
    "US": "AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND "
    "NE NH NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY",
}  # fmt: skip

_ALSACE: Outline = (
    (7.64, 49.06), (7.55, 48.97), (7.36, 48.95), (7.24, 49.00), (7.00, 49.02), (6.95, 48.88),
    (7.08, 48.81), (7.29, 48.84), (7.29, 48.66), (7.13, 48.52), (7.08, 48.30), (7.05, 48.10),
    (6.92, 47.85), (7.02, 47.70),
    (7.13, 47.52), (7.14, 47.43), (7.30, 47.38), (7.70, 47.50), (7.70, 48.30), (8.35, 48.95),
    (8.00, 49.10),
)  # fmt: skip
_MOSELLE: Outline = (
    (5.89, 49.51), (5.92, 49.28), (5.86, 49.15), (5.99, 48.97), (6.22, 48.93), (6.37, 48.76),
    (6.66, 48.72), (6.95, 48.55), (7.12, 48.53), (7.29, 48.66), (7.29, 48.84), (7.08, 48.81),
    (6.95, 48.88), (7.00, 49.02), (7.24, 49.00), (7.36, 48.95), (7.55, 48.97),
    (7.65, 49.06), (7.40, 49.22), (6.50, 49.60),
)  # fmt: skip


def iso_regions() -> Mapping[tuple[str, str], str]:
    """ISO 3166-2 by country and GeoNames' first-level code."""
    table = {}
    for country, row in _TABLE.items():
        for pair in row.split():
            code, _, suffix = pair.partition("=")
            table[country, code] = f"{country}-{suffix or code}"
    return table


def refined(region: str, lat: float, lng: float) -> str:
    """The part of a region whose holidays are its own, where the point lies in one."""
    if region == "FR-GES" and inside(_ALSACE, lat, lng):
        return "FR-6AE"
    if region == "FR-GES" and inside(_MOSELLE, lat, lng):
        return "FR-57"
    return region
