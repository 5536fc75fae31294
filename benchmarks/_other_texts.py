"""Texts that are no scholarly English: letters at random, everyday sentences, and sentences in other languages."""

from __future__ import annotations

import random
import string


def nonsense(count: int, seed: int) -> list[str]:
    """Texts of 3 to 40 words of letters at random."""
    draw = random.Random(seed)

    def word() -> str:
        return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 10)))

    return [" ".join(word() for _ in range(draw.randint(3, 40))) for _ in range(count)]


ENGLISH = [
    "The cat sat on the mat and licked its paws until the rain stopped.",
    "We had pancakes with maple syrup for breakfast before driving to the lake.",
    "My sister called yesterday to say that her kitchen sink is leaking again.",
    "Please water the tomatoes in the garden while I am on holiday.",
    "The bus was late this morning, so I missed my appointment with the dentist.",
    "He painted the fence green and left the brushes drying in the sun.",
    "Our neighbour's dog barks whenever the postman comes up the stairs.",
    "They won the match in the last minute after a brilliant header.",
    "The bakery on the corner sells the best cinnamon rolls in town.",
    "I forgot my umbrella and got soaked on the way to the station.",
    "Melt the butter, stir in the sugar, and beat the eggs one at a time.",
    "The mayor opened a new swimming pool near the old railway bridge.",
    "Stock prices fell sharply on Monday after the central bank raised interest rates.",
    "She knitted a woollen scarf for her grandson's birthday in December.",
    "The hikers pitched their tents beside the river and lit a small fire.",
    "Could you pick up some milk and a loaf of bread on your way home?",
    "The old clock in the hall has not chimed since last winter.",
    "Fresh snow covered the rooftops and the children built a snowman.",
    "The ferry leaves at noon and reaches the island before sunset.",
    "He tuned his guitar and played a slow song about the sea.",
    "The police closed the motorway after a lorry lost its load of gravel.",
    "Grandfather keeps bees and gives every guest a jar of honey.",
    "The tailor shortened the trousers and replaced two missing buttons.",
    "We planted an apple tree when our daughter was born.",
    "The hotel room had a balcony with a view of the harbour.",
    "Add a pinch of salt, cover the pot, and simmer the soup for twenty minutes.",
    "The film was so boring that half of the audience left before the end.",
    "A fox crossed the meadow and vanished behind the barn.",
    "The plumber wants two hundred pounds to repair the boiler.",
    "They sailed around the cape in a storm and lost a mast.",
    "The quick brown fox jumps over the lazy dog.",
    "My flight was cancelled, and the airline offered a voucher for lunch.",
    "The barber trimmed his beard and told a joke about fishermen.",
    "The museum is free on Sundays, but the queue is long.",
    "She ran the marathon in under four hours despite a sore knee.",
    "The landlord promised to fix the heating before the frost.",
]
"""Everyday sentences, as nobody writes them in a paper."""

OTHER_LANGUAGES = [
    "Die Katze sitzt auf dem Dach und schaut den Vögeln zu, die im Garten nach Würmern suchen.",
    "Der Patient klagte über Schmerzen im Knie und wurde am nächsten Tag operiert.",
    "Wir untersuchen die Übersetzung langer Sätze mit einem statistischen Verfahren.",
    "Le chat dort sur le canapé pendant que les enfants jouent dans le jardin.",
    "Nous proposons une méthode d'apprentissage pour l'analyse syntaxique des phrases longues.",
    "Les prix du pain ont augmenté depuis le début de l'année dans toute la région.",
    "El perro de mi vecino ladra todas las noches cuando pasa el tren.",
    "Los resultados muestran que el tratamiento reduce la fiebre en la mayoría de los casos.",
    "Proponemos un modelo para la traducción automática de textos breves.",
    "Il treno per Milano parte dal terzo binario con venti minuti di ritardo.",
    "La nonna prepara il pane ogni domenica con la farina del mulino.",
    "O menino comprou laranjas e pão na feira perto da praça.",
    "De fietsers reden langs het kanaal terwijl de zon langzaam onderging.",
    "Kissan pennut leikkivät pihalla, kunnes alkoi sataa lunta.",
    "Katten sover på soffan medan barnen leker ute i trädgården.",
    "Kot śpi na kanapie, a dzieci bawią się w ogrodzie za domem.",
    "Kedi kanepede uyurken çocuklar bahçede top oynuyor.",
    "A macska a kanapén alszik, a gyerekek pedig a kertben játszanak.",
    "Кошка спит на диване, а дети играют в саду за домом.",
    "Мы предлагаем новый метод автоматического перевода коротких текстов.",
    "Η γάτα κοιμάται στον καναπέ ενώ τα παιδιά παίζουν στον κήπο.",
    "القطة نائمة على الأريكة والأطفال يلعبون في الحديقة.",
    "החתול ישן על הספה והילדים משחקים בגינה.",
    "猫 在 沙发 上 睡觉 , 孩子们 在 花园 里 玩耍 。",
    "子供たちは庭で遊び、猫はソファで眠っている。",
    "고양이는 소파에서 자고 아이들은 정원에서 놀고 있다.",
    "बिल्ली सोफे पर सो रही है और बच्चे बगीचे में खेल रहे हैं।",
    "Con mèo đang ngủ trên ghế và bọn trẻ chơi ngoài vườn.",
]
"""A sentence each, everyday and scholarly."""
