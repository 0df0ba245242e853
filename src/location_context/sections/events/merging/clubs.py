"""Clubs and countries: what two sides of a match are called by different providers."""

from __future__ import annotations

from location_context.sections.events.merging.vocabulary import table, word_set

# what a club's name may have or lack; what it plays, and how a club is called for short
CLUB = word_set("""
    fc cf afc sc ac as ssc bsc sv vfb vfl tsg cr se hbc hb hc ec ev bc rc ud cd sd rcd ss us usc tsv
    fsv spvgg msv ksc ksv sk fk nk if bk ff rb c f club de cp sl cd ogc osc losc rugby football
    futbol calcio soccer basket kc
""")
# what many clubs are called: alone it names none
CLUB_KINDS = word_set("""
    real sporting athletic united city dynamo racing union deportivo olympique national rovers town
    county eintracht borussia fortuna wanderers los angeles new york red white san saint
""")
DISCIPLINES = {
    name: kind
    for kind, names in {
        "handball": "handball balonmano",
        "basketball": "basketball basket baskets baloncesto pallacanestro",
        "hockey": "hockey eishockey",
        "volleyball": "volleyball volley voleibol",
        "futsal": "futsal",
    }.items()
    for name in names.split()
}
CLUBS = table("""
psg = paris saint germain | paris sg | psg | paris st germain
marseille = om | olympique de marseille | olympique marseille
lyon = ol | olympique lyonnais
acmilan = ac milan | a c milan | milan
internazionale = inter | inter milan | internazionale
internazionale = internazionale milano | fc internazionale milano
athleticbilbao = athletic club | athletic bilbao | athletic club bilbao
atletico = atletico madrid | atletico de madrid | atletico
tottenham = spurs | tottenham hotspur | tottenham
wolves = wolverhampton wanderers | wolverhampton
manunited = manchester united | man united | man utd | manchester utd
mancity = manchester city | man city
hsv = hamburger sv | hsv
bvb = borussia dortmund | bvb | dortmund
gladbach = borussia monchengladbach | monchengladbach | gladbach
bayern = bayern munchen | bayern munich | bayern | fc bayern | fcb
realmadrid = real madrid
barcelona = barca
sporting = sporting cp | sporting lisbon | sporting lissabon | sporting clube de portugal
leipzig = rb leipzig | rasenballsport leipzig
zenit = zenit st petersburg | zenit saint petersburg | zenit
spartak = spartak moscow | spartak moskva
""")  # fmt: skip

COUNTRIES = table("""
argentina = argentinien | argentine
australia = australien | australie
austria = osterreich | autriche | oostenrijk
belgium = belgien | belgique | belgica | belgio | belgie
brazil = brasil | brasilien | bresil | brasile
canada = kanada
croatia = kroatien | croatie | croacia | croazia | hrvatska
czechia = tschechien | tchequie | chequia | cechia | czech republic
denmark = danemark | dinamarca | danimarca | danmark
england = angleterre | inglaterra | inghilterra | engeland
finland = finnland | finlande | finlandia | suomi
france = frankreich | francia | franca | frankrijk
germany = deutschland | allemagne | alemania | germania | alemanha | duitsland
greece = griechenland | grece | grecia
hungary = ungarn | hongrie | hungria | ungheria
ireland = irland | irlande | irlanda
italy = italien | italie | italia
japan = japon | giappone | japao | 日本
korea = sudkorea | coree du sud | corea del sur | south korea | korea republic
mexico = mexiko | mexique | messico
morocco = marokko | maroc | marruecos | marocco
netherlands = niederlande | pays bas | paises bajos | paesi bassi | olanda | holland | nederland
new zealand = neuseeland | nouvelle zelande | nueva zelanda | nuova zelanda
norway = norwegen | norvege | noruega | norvegia | norge
poland = polen | pologne | polonia | polska
romania = rumanien | roumanie | rumania
scotland = schottland | ecosse | escocia | scozia
serbia = serbien | serbie
slovakia = slowakei | slovaquie | eslovaquia | slovacchia
slovenia = slowenien | slovenie | eslovenia
south africa = sudafrika | afrique du sud | sudafrica
spain = spanien | espagne | espana | spagna | espanha | spanje
sweden = schweden | suede | suecia | svezia | sverige
switzerland = schweiz | suisse | suiza | svizzera
turkey = turkei | turquie | turquia | turchia | turkiye
ukraine = ucrania | ucraina
usa = united states | vereinigte staaten | etats unis | estados unidos | stati uniti
wales = galles | pays de galles | gales
""")  # fmt: skip
