"""Currencies: their signs, and about how many units made a euro in 2025.

The rates only sort prices into four levels, so a tenth more or less does not matter.
"""

from __future__ import annotations

PER_EURO: dict[str, float] = {
    "AED": 4.15, "AFN": 78, "ALL": 98, "AMD": 435, "ANG": 2.03, "AOA": 1040, "ARS": 1500,
    "AUD": 1.75, "AWG": 2.03, "AZN": 1.92, "BAM": 1.956, "BBD": 2.26, "BDT": 138, "BGN": 1.956,
    "BHD": 0.426, "BIF": 3350, "BMD": 1.13, "BND": 1.48, "BOB": 7.8, "BRL": 6.3, "BSD": 1.13,
    "BTN": 98, "BWP": 15.3, "BYN": 3.7, "BZD": 2.27, "CAD": 1.58, "CDF": 3200, "CHF": 0.94,
    "CLP": 1070, "CNY": 8.15, "COP": 4650, "CRC": 575, "CUP": 27, "CVE": 110.3, "CZK": 24.7,
    "DJF": 201, "DKK": 7.46, "DOP": 69, "DZD": 148, "EGP": 56, "ERN": 17, "ETB": 150, "EUR": 1,
    "FJD": 2.57, "FKP": 0.855, "GBP": 0.855, "GEL": 3.1, "GHS": 14, "GIP": 0.855, "GMD": 80,
    "GNF": 9800, "GTQ": 8.7, "GYD": 236, "HKD": 8.8, "HNL": 29, "HTG": 148, "HUF": 398,
    "IDR": 18500, "ILS": 3.95, "INR": 98, "IQD": 1480, "IRR": 47500, "ISK": 143, "JMD": 180,
    "JOD": 0.80, "JPY": 168, "KES": 146, "KGS": 99, "KHR": 4540, "KMF": 492, "KPW": 1020,
    "KRW": 1600, "KWD": 0.347, "KYD": 0.94, "KZT": 590, "LAK": 24500, "LBP": 101000, "LKR": 340,
    "LRD": 215, "LSL": 20.3, "LYD": 6.15, "MAD": 10.5, "MDL": 19.5, "MGA": 5100, "MKD": 61.5,
    "MMK": 2370, "MNT": 4000, "MOP": 9.1, "MRU": 45, "MUR": 51.5, "MVR": 17.4, "MWK": 1960,
    "MXN": 21.6, "MYR": 4.85, "MZN": 72, "NAD": 20.3, "NGN": 1730, "NIO": 41.5, "NOK": 11.7,
    "NPR": 157, "NZD": 1.92, "OMR": 0.435, "PAB": 1.13, "PEN": 4.1, "PGK": 4.65, "PHP": 64.5,
    "PKR": 319, "PLN": 4.25, "PYG": 8700, "QAR": 4.12, "RON": 5.05, "RSD": 117.2, "RUB": 94,
    "RWF": 1630, "SAR": 4.24, "SBD": 9.5, "SCR": 16.5, "SDG": 680, "SEK": 11.05, "SGD": 1.47,
    "SHP": 0.855, "SLE": 25.7, "SOS": 646, "SRD": 42, "SSP": 5200, "STN": 24.5, "SVC": 9.9,
    "SYP": 14700, "SZL": 20.3, "THB": 37.2, "TJS": 11, "TMT": 3.96, "TND": 3.37, "TOP": 2.7,
    "TRY": 45, "TTD": 7.7, "TWD": 35.3, "TZS": 2900, "UAH": 47.3, "UGX": 4080, "USD": 1.13,
    "UYU": 46, "UZS": 14300, "VES": 140, "VND": 29500, "VUV": 136, "WST": 3.1, "XAF": 656,
    "XCD": 3.05, "XOF": 656, "XPF": 119.3, "YER": 276, "ZAR": 20.3, "ZMW": 28, "ZWG": 30,
}  # fmt: skip

# A sign stands for its first currency, unless the country at hand uses another one of them.
SIGNS: dict[str, tuple[str, ...]] = {
    "$": (
        "USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP", "BRL", "BSD",
        "BBD", "BMD", "BND", "BZD", "DOP", "FJD", "GYD", "JMD", "KYD", "LRD", "NAD", "SBD", "SRD",
        "TTD", "UYU", "XCD", "MOP",
    ),
    "US$": ("USD",), "CA$": ("CAD",), "C$": ("CAD", "NIO"), "A$": ("AUD",), "AU$": ("AUD",),
    "NZ$": ("NZD",), "S$": ("SGD",), "HK$": ("HKD",), "NT$": ("TWD",), "MX$": ("MXN",),
    "R$": ("BRL",), "MOP$": ("MOP",), "RD$": ("DOP",), "J$": ("JMD",), "TT$": ("TTD",),
    "€": ("EUR",), "£": ("GBP", "EGP", "GIP", "FKP", "LBP"), "¥": ("JPY", "CNY"),
    "￥": ("JPY", "CNY"), "円": ("JPY",), "元": ("CNY", "TWD"), "원": ("KRW",),
    "₩": ("KRW", "KPW"), "￦": ("KRW",), "฿": ("THB",), "₫": ("VND",), "đ": ("VND",),
    "₺": ("TRY",), "TL": ("TRY",), "₹": ("INR",), "Rs": ("INR", "PKR", "LKR", "NPR", "MUR", "SCR"),
    "₨": ("INR", "PKR", "LKR", "NPR", "MUR", "SCR"), "₱": ("PHP",), "₪": ("ILS",),
    "₽": ("RUB",), "₴": ("UAH",), "zł": ("PLN",), "Kč": ("CZK",), "Ft": ("HUF",),
    "kr": ("SEK", "NOK", "DKK", "ISK"), "kr.": ("DKK", "SEK", "NOK", "ISK"), "Fr.": ("CHF",),
    "Fr": ("CHF",), "SFr": ("CHF",), "RM": ("MYR",), "Rp": ("IDR",), "лв": ("BGN",),
    "лв.": ("BGN",), "lei": ("RON", "MDL"), "din": ("RSD",), "дин": ("RSD",), "د.إ": ("AED",),
    "ر.س": ("SAR",), "﷼": ("SAR", "IRR", "OMR", "QAR", "YER"), "ر.ق": ("QAR",), "د.م.": ("MAD",),
    "₸": ("KZT",), "₾": ("GEL",), "₼": ("AZN",), "֏": ("AMD",), "₦": ("NGN",), "₵": ("GHS",),
    "₡": ("CRC",), "₲": ("PYG",), "₭": ("LAK",), "៛": ("KHR",), "₮": ("MNT",), "৳": ("BDT",),
    "S/": ("PEN",), "S/.": ("PEN",), "Bs": ("BOB", "VES"), "Q": ("GTQ",), "L": ("HNL",),
    "R": ("ZAR",), "KSh": ("KES",), "TSh": ("TZS",), "USh": ("UGX",), "₿": (),
}  # fmt: skip
