"""The short words that drawn pictures carry; few, so that a tiny tokenizer learns them all."""

ITEMS = ("tea", "milk", "rice", "soap", "salt", "fish", "eggs", "corn")
PEOPLE = ("Ann", "Bob", "Eva", "Ian", "Lea", "Max", "Tom", "Zoe")
PLACES = ("Oro", "Pim", "Vel", "Kas", "Lun", "Tor", "Mir", "Zed")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "May", "Jun", "Oct")
COLUMNS = ("price", "stock", "size", "sold")
