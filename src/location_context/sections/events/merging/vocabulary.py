"""Vocabulary: what providers add to a name, and what several languages call the same.

Written as people write it; `spelling` folds it once. A phrase stands before the words it holds.
"""

from __future__ import annotations

from location_context.sections.events.merging.spelling import plain, words


def folded(text: str) -> tuple[str, ...]:
    return tuple(words(plain(text)))


def word_set(text: str) -> frozenset[str]:
    return frozenset(word for line in text.split() for word in folded(line))


def table(text: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Lines of `what it means = one way to say it | another`; each way becomes the meaning."""
    found = {}
    for line in text.strip().splitlines():
        meaning, _, ways = line.partition("=")
        for way in ways.split("|"):
            found[folded(way)] = tuple(meaning.split())
    return found


PARTICLES = word_set("""
    the a an and of in at on to for from by with de la le les el los las der die das dem den des du
    del della delle dei degli di da dell dall d l s t n i il lo gli et e y und o os as ao do dos no
    na im am zum zur auf von vom mit bei ab au aux en sur dans con per en het een van og i pa the
    al san st saint sankt vs versus
""")

# a ticket, a state of sale, a kind of show: nothing of it is part of a name
DROPPED = table("""
= vip | package | packages | hotel package | hotel packages | premium seats | premium | platinum
= ticket | tickets | billet | billets | billetterie | biglietto | biglietti | entradas | entrada
= entradas agotadas | agotado | agotadas | localidades agotadas | complet | esgotado | esaurito
= sold out | soldout | ausverkauft | uitverkocht | wyprzedane | udsolgt | utsalgt | слоты проданы
= rescheduled | postponed | cancelled | canceled | abgesagt | annule | annulee | reporte | reportee
= verschoben | verlegt | nachholtermin | ersatztermin | aplazado | cancelado | rinviato | annullato
= zusatzkonzert | zusatzshow | zusatztermin | supplementaire | seconda data | extra date
= new date | moved from | rescheduled from | last tickets | last minute | restkarten
= day ticket | day tickets | day pass | tagesticket | tageskarte | tages ticket | weekend pass
= weekend ticket | season pass | abono general | abono | pase | passe | dauerkarte | kombiticket
= general admission | early entry | early bird | meet greet | premiere | touring | presale
= special guest | special guests | support | supports | guest | guests | feat | ft | featuring
= presents | presente | presented by | prasentiert | presenta | apresenta | official | offizielle
= 2 for 1 | entrance ticket | eintrittskarte | open air | hospitality | touristic | eintritt
= チケット | 完売 | 公演 | 開催 | 追加公演 | 門票
""")

# what any event may say of itself: it weighs next to nothing
DECOR = word_set("""
    live tour concert recital gig show shows world special edition annual event events year years
    best hits greatest festive presents hall saal sala salle large small days dates
    anniversary celebration arena experience touring original
""")

# what kind of event it is: little, but where two titles have words of their own it tells them apart
KINDS = word_set("""
    festival exhibition fair congress conference party night day evening morning afternoon musical
    opera ballet theatre orchestra philharmonic symphony quartet trio choir gospel ensemble band dj
    jazz rock pop classic classical comedy standup circus market flea christmas newyear easter gala
    stage family club city park parade race marathon run cup league championship championships final
    finals open game match series season round international internationale internazionale national
    european immersive guided visit course yoga salsa tango flamenco lecture reading
    quiz cinema cine ciclo museum gallery collection highlights group session sessions piano
    organ violin guitar cello lunchtime music summer spring autumn service doors pub mic jam
    lunch brunch cruise river food wine beer art arts play plays stadium week weekend holidays
    holiday ice act chapter asia europe europa church house public offenen tur offene eve new
    grandprix monday tuesday wednesday thursday friday saturday sunday chamber
    free walk walking bike boat bus talk disco
""")
# of these, those that make a name of another: Berlin is not its orchestra
ENSEMBLES = word_set(
    "orchestra philharmonic symphony quartet trio choir ensemble band ballet opera"
)
VAGUE = DECOR | KINDS

# what says another event than the same name without it
MARKERS = table("""
#women = women | womens | ladies | frauen | damen | feminin | feminine | feminines | femenino
#women = vrouwen | mulheres | damer | naiset | kobiet | kobiety | zeny | nok | kadin
#women = femenina | femminile | feminino | wfc | lfc women | dames | kvinder | wsl | nwsl | wnba
#youth = youth | jugend | primavera 1 | juvenil | junioren | espoirs | reserves youth
#reserve = castilla | reserve | reserves | next gen | atletic b | development squad | jong
#reserve = filial
#tribute = tribute | tribut | tributo | hommage | homenaje | omaggio | coverband | cover band
#tribute = the music of | the world of | die musik von | the songs of
#tribute = cover | covers | salute | revival band | machine tribute
#tribute candlelight = candlelight
#parking = parking | parkplatz | car park | parkticket | parcheggio | aparcamiento | stationnement
#half marathon = half marathon | halbmarathon | semi marathon | medio maraton | media maraton
#half = half
#half marathon = mezza maratona | meia maratona | halvmarathon | halve marathon | maratonina
#quarter marathon = quarter marathon | viertelmarathon | quart de marathon
#children = children | kids | kinder | enfants | ninos | bambini | criancas | 子供
#children = kindern | junior
#children = mini marathon | schulklassen | familienkonzert | babykonzert | jeune public
#rehearsal = rehearsal | generalprobe | dress rehearsal | prova generale | offentliche probe
#youth = u18 | under 21 | sub 21
#after = after party | afterparty | aftershow | aftershow party | after show party
#screening = livestream | live stream | public viewing | screening | laser show | broadcast
#screening = ubertragung | retransmision | retransmission | in cinemas | im kino | watch party
#tour = stadium tour | stadiontour | arena tour experience | backstage tour | behind the scenes
#singalong = sing along | singalong | karaoke
#party party = party | the party
#combo = combo | combined
#winter = winter | hiver | invierno | inverno
#meal = dinner | diner | lunch | brunch | cena | abendessen | afternoon tea
#school = masterclass | workshop | atelier | taller
""")

# of each group two events may not hold different ones
GROUPS: tuple[frozenset[str], ...] = tuple(
    map(
        frozenset,
        (
            {"early", "late", "spatvorstellung"},
            {"morning", "afternoon", "evening", "night", "day", "matinee", "heats"},
            {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"},
            {"beginners", "advanced", "intermediate"},
            {"adults", "family"},
            {"trio", "quartet", "quintet", "duo", "sextet"},
            {"ballet", "opera", "circus", "musical"},
            {"winter", "summer", "spring", "autumn"},
            {"trumpet", "violin", "cello"},
            {"small", "large"},
        ),
    )
)

MEANINGS = table("""
concert = konzert | concierto | concerto | concerti | concerts | konzerte | koncert | コンサート
concert = концерт | حفل | حفلة | 演唱會 | 演唱会 | 音樂會 | 콘서트 | concierto de | konser
live = ライブ | en vivo | en directo | dal vivo | en concert | in concert | ao vivo | مباشر
tour = tournee | gira | turne | ツアー | tournée | 巡迴 | 巡演 | world tour | ドームツアー
world = 世界 | welt
show = espectaculo | spectacle | spettacolo | espetaculo | vorstellung | represantation | 秀
festival = festspiele | filmfestspiele | festwochen | fete | fiesta | fiestas | festa | feast
festival = matsuri | 祭 | фестиваль | مهرجان | fesztival | festivals | fest | feria
film = filme | films | movie
exhibition = ausstellung | exposition | exposicion | mostra | expo | 展 | выставка | معرض
guided visit = guided tour | guided tours | fuhrung | fuhrungen | visite guidee | visita guidata
guided visit = visita guiada | visites guidees | offentliche fuhrung | rondleiding | tour guidato
guided visit = guided walk
standup = stand up
long = lange | longue
museum = museums
lecture = vortrag | conference debat | conferencia
reading = lesung | lecture de | book reading | bookreading | autorenlesung | lectura | lettura
market = markt | marche | mercado | mercato | mercadillo | mercatino | mercatini
market flea = flohmarkt | marche aux puces | flea market | brocante | rastro | trodelmarkt
christmas = noel | weihnachten | weihnachts | navidad | natale | natal | navideno | navidena | xmas
christmas = kerst | jul | рождество
christmas market = weihnachtsmarkt | christkindlmarkt | christkindlesmarkt | weihnachtszauber
christmas market = mercatini di natale | julmarkt | adventsmarkt
christmas oratorio = weihnachtsoratorium | oratorio de noel | oratorio de navidad
christmas concert = weihnachtskonzert
newyear = new years | neujahr | nouvel an | ano nuevo | capodanno
newyear concert = neujahrskonzert | concert du nouvel an | concierto de ano nuevo
newyear eve = new years eve | new year s eve | nye | silvester | nochevieja | reveillon
newyear eve = saint sylvestre | notte di san silvestro
newyear = new year s | new year
newyear eve party = silvesterparty
carnival = karneval | carnaval | carnevale | fasching | fastnacht | карнавал
easter = ostern | paques | pascua | pasqua
fireworks = feuerwerk | feu d artifice | feux d artifice | fuegos artificiales | fuochi d artificio
night = nuit | nacht | noche | notte | noite | abend | nights
evening = soiree | soir | sera | tarde
morning = matin | vormittag | manana | mattina
day = jour | journee | tag | dia | giorno | giornata
matinee = matinée | nachmittagsvorstellung
orchestra = orchestre | orchester | orquesta | orquestra | orkest | оркестр
philharmonic = philharmonie | philharmoniker | filarmonica | philharmonia | philharmonique
symphony = sinfonie | symphonie | sinfonia | symphonique | sinfonica | симфония | simfonia
symphony concert = symphoniekonzert | sinfoniekonzert
chamber music = kammermusik | musique de chambre | musica da camera
quartet = quatuor | quartett | cuarteto | quartetto
choir = chor | choeur | coro | cor | chorale
piano = klavier | pianoforte
piano recital = klavierabend
organ = orgue | orgel | organo
requiem = реквием
opera = oper | opéra | opern | опера | opernhaus
ballet = ballett | balletto | балет
theatre = theater | teatro | theatre de | teatr | театр | théâtre
circus = cirque | zirkus | circo | цирк
museum = musee | museo | museu | museen | музей
stadium = stade | stadion | estadio | stadio | 스타디움
park = parc | parque | parco
race = lauf | course a pied | corsa | carrera | run
marathon = maratona | maraton | マラソン | марафон
grandprix = grand prix | gran premio | grosser preis | grande premio
stage = etappe | etape | tappa | etapa
part = teil | partie | parte
small = kleiner | kleinen | kleine | petite | petit | pequena | piccola
large = grosser | grossen | grosse | grande | gran
afternoon = nachmittag | apres midi
matchday = spieltag | journee de championnat
fair = salon | messe | feria | fiera
congress = kongress | congres | congreso | congresso
public = offentliche | offentlicher | publique | publica
beginners = anfanger | debutants | principiantes
advanced = fortgeschrittene | avances | avanzado
mens = men | herren | manner | masculino | maschile | hommes
valentine day = valentinstag | saint valentin | san valentin | san valentino | valentine s day
valentine day = st valentine s day | valentines day
holy week = semana santa | karwoche | semaine sainte | settimana santa
day dead = dia de los muertos | dia de muertos | day of the dead
allsaints = all saints day | all saints | toussaint | allerheiligen | todos los santos | ognissanti
allsaints = all saints' day
hours = heures | stunden | horas | uren
newworld = new world | neuen welt | neue welt | nouveau monde | nuevo mundo | nuovo mondo
gospel choir = gospelchor
mother day = muttertag | fete des meres | dia de la madre | festa della mamma | mother s day
father day = vatertag | fete des peres | dia del padre | father s day
patrick = st patrick | saint patrick | st patricks | st patrick s | saint patrick s
light festival = festival of lights | fete des lumieres | lichterfest | festa delle luci
christopher street day = csd | pride
nutcracker = nussknacker | casse noisette | cascanueces | schiaccianoci | щелкунчик | くるみ割り人形
swanlake = swan lake | lac des cygnes | schwanensee | lago de los cisnes | lago dei cigni
swanlake = лебединое озеро | 白鳥の湖
sleepingbeauty = sleeping beauty | dornroschen | belle au bois dormant | bella durmiente
sleepingbeauty = bella addormentata | спящая красавица
magicflute = magic flute | zauberflote | flute enchantee | flauta magica | flauto magico
barber seville = barbiere siviglia | barbier sevilla | barbier seville | barbero sevilla
figaro marriage = nozze figaro | hochzeit figaro | noces figaro | marriage figaro | bodas figaro
dongiovanni = don giovanni
flying dutchman = fliegende hollander | fliegender hollander | hollandais volant
bat fledermaus = die fledermaus | fledermaus | chauve souris
merry widow = lustige witwe | veuve joyeuse
threepenny = dreigroschenoper | threepenny opera | opera de quat sous
romeo juliet = romeo und julia | romeo et juliette | romeo y julieta | romeo e giulietta
romeo juliet = ромео и джульетта | romeo juliette | romeo julia
midsummer dream = midsummer night s dream | sommernachtstraum | songe d une nuit d ete
midsummer dream = sueno de una noche de verano | sogno di una notte di mezza estate
phantom opera = phantom der oper | phantom of the opera | fantome de l opera | fantasma de la opera
lionking = lion king | konig der lowen | roi lion | rey leon | re leone | ライオンキング
frozen = eiskonigin | reine des neiges | アナと雪の女王
beautybeast = beauty and the beast | die schone und das biest | la belle et la bete
beautybeast = la bella y la bestia | beauty beast | schone biest | belle bete
seasons four = vier jahreszeiten | quatre saisons | cuatro estaciones | quattro stagioni
seasons four = four seasons | времена года
rite spring = sacre du printemps | rite of spring
creation haydn = die schopfung
passion matthew = matthauspassion | matthaus passion | st matthew passion
passion john = johannespassion | johannes passion | st john passion
snowwhite = snow white | schneewittchen | blanche neige | blancanieves | biancaneve
christmas carol = weihnachtsgeschichte | cantico de navidad
six nations = 6 nations | tournoi des 6 nations | tournoi des six nations | sechs nationen
world cup = coupe du monde | weltmeisterschaft | copa del mundo | coppa del mondo
munich = munchen | munchner | monaco di baviera
cologne = koln | kolner | koelner | colonia
vienna = wien | wiener | vienne | viena
milan = milano | mailand
rome = roma | rom
naples = napoli | neapel
turin = torino
venice = venezia | venedig | venise | venecia | veneziani
genoa = genova | genua
lisbon = lisboa | lissabon | lisbonne
seville = sevilla | siviglia
saragossa = zaragoza
warsaw = warszawa | warschau | varsovie
prague = praha | prag
moscow = moskau | moscou | москва | moskva
petersburg = санкт петербург
copenhagen = kobenhavn | kopenhagen | copenhague
brussels = bruxelles | brussel | bruselas
geneva = geneve | genf | ginevra
zurich = zuerich
nuremberg = nurnberg | nuernberg
hanover = hannover
london = londres | londra
athens = athina | athen | athenes | αθηνα
berlin = berliner
tokyo = 東京
paris = parigi
""")  # fmt: skip

NUMBERS = table("""
1 = first | erste | erster | premiere partie | primera | primo | prima | one | 1st | 第一
1 = 1er | 1ere | uno | een | eins | part i | night i | act i
2 = second | zweite | zweiter | deuxieme | segunda | secondo | seconda | two | 2nd | 第二
2 = ii | 2eme
3 = third | dritte | dritter | troisieme | tercera | terzo | terza | three | 3rd | 第三
3 = iii | 3eme
4 = fourth | vierte | quatrieme | cuarta | quarta | 4th | 第四 | iv | part iv
5 = fifth | funfte | cinquieme | quinta | 5th | 第五
6 = sixth | sechste | sixieme | sexta | sesta | 6th | vi
7 = seventh | siebte | septieme | septima | settima | 7th | vii
8 = eighth | achte | huitieme | octava | ottava | 8th | viii
9 = ninth | neunte | neuvieme | novena | nona | 9th | ix
10 = tenth | zehnte | dixieme | decima | 10th
""")
