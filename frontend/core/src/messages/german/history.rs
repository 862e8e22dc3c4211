//! Messages of the history of an object.

use crate::messages::{LocalTime, counted, translation};

translation! { German;
    history: ObjectHistory {
        history = "Verlauf";
        help = "Der Server zeichnet Versionen auf, während dieser Tab oder eine Liste dieser Art von Objekten geöffnet ist. Er behält bis zu 20 Versionen für 7 Tage, bis zu seinem Neustart.";
        no_kind = "Kein Verlauf für diese Art von Objekten";
        no_kind_advice(kinds: &str) = format!("Der Server zeichnet nur Objekte auf, die konfiguriert werden: {kinds}. Andere Objekte zeichnet er nicht auf, weil Controller die meisten davon oft ändern, und Secrets niemals.");
        only_one = "Noch keine Änderungen aufgezeichnet. Die Liste enthält die erste Version, die der Server gelesen hat.";
        first = "Erste aufgezeichnete Version";
        deleted = "Gelöscht";
        recreated = "Gelöscht und neu erstellt";
        too_large = "Die Version ist größer als 512 KiB. Ihr Inhalt wurde deshalb nicht gespeichert.";
        last_manager(managers: &str) = format!("Zuletzt geändert von {managers}");
        user_with(users: &str, managers: &str) = format!("{users} mit {managers}");
        unknown = "Unbekannt";
        added(path: &str, value: &str) = format!("{path} hinzugefügt: {value}");
        removed(path: &str, value: &str) = format!("{path} entfernt: {value}");
        further(count: usize) = format!("und {}", counted(count, "weiteres geändertes Feld", "weitere geänderte Felder"));
        show_diff = "Änderungen anzeigen";
        hide_diff = "Änderungen ausblenden";
        show_object = "Version anzeigen";
        hide_object = "Version ausblenden";
        versions = "Versionen";
        revert = "Auf diese Version zurücksetzen…";
        reverting(time: &LocalTime) = format!("Der Editor enthält die Version von {time}. Die Änderungen vor dem Speichern überprüfen.");
        the_history = "den Verlauf";
        not_reverted = "Das Manifest dieser Version kann nicht erstellt werden.";
    }
}
