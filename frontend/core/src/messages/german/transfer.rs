//! Messages of the download and upload of files of a container.

use crate::messages::translation;

translation! { German;
    transfer: Transfer {
        download_menu = "Datei herunterladen…";
        upload_menu = "Datei hochladen…";
        download = "Herunterladen";
        upload = "Hochladen";
        container = "Container";
        path = "Pfad der Datei oder des Ordners";
        path_help = "Ein Ordner wird als Archiv (.tar) gespeichert. Der Container benötigt das Programm cat, für Ordner auch tar.";
        invalid_path = "Den Pfad einer Datei oder eines Ordners eingeben. Der Pfad darf nicht mit „..“ enden.";
        folder = "Zielordner";
        folder_help = "Der Ordner muss existieren. Eine Datei mit demselben Namen wird ersetzt. Der Container benötigt die Programme sh, cat und wc.";
        files = "Dateien";
        invalid_name(name: &str) = format!("Ein Container kann keine Datei mit dem Namen {name} enthalten.");
        received(bytes: &str) = format!("{bytes} empfangen");
        sent(name: &str, sent: &str, size: &str) = format!("{name}: {sent} von {size}");
        progress = "Fortschritt der Übertragung";
        cancel = "Übertragung abbrechen";
        cancelled = "Das Herunterladen wurde abgebrochen.";
        upload_cancelled = "Das Hochladen wurde abgebrochen. Der Container kann eine unvollständige Datei enthalten.";
        saved(name: &str) = format!("{name} wurde heruntergeladen.");
        uploaded(count: usize, folder: &str) = match count {
            1 => format!("1 Datei wurde nach {folder} hochgeladen."),
            _ => format!("{count} Dateien wurden nach {folder} hochgeladen."),
        };
        incomplete(name: &str, problem: &str) = format!("{name}: {problem}");
        not_running_title = "Kein laufender Container";
        not_running_advice = "Eine Übertragung benötigt einen laufenden Container. Die Events des Pods zeigen mehr.";
        no_program(program: &str) = format!("Der Container enthält das Programm {program} nicht, das für die Übertragung nötig ist.");
        not_found = "Der Pfad existiert im Container nicht.";
        no_permission = "Der Benutzer des Containers darf nicht auf den Pfad oder auf eine Datei im Ordner zugreifen.";
        is_folder = "Der Pfad ist ein Ordner.";
        not_folder = "Der Pfad enthält eine Datei statt eines Ordners.";
        read_only = "Das Dateisystem des Pfads ist schreibgeschützt. Einen Ordner in einem Volume wählen.";
        no_space = "Das Dateisystem des Containers ist voll.";
        not_running = "Der Container läuft nicht. Einen laufenden Container wählen.";
        too_large(limit: &str) = format!("Die Datei oder das Archiv ist größer als {limit}. kubectl cp verwenden.");
        not_opened = "Die Verbindung zum Container kann nicht geöffnet werden. Prüfen, ob der Container läuft, und ob der Cluster Kubernetes 1.30 oder neuer hat.";
        lost = "Die Verbindung wurde vor dem Ende der Übertragung unterbrochen. Erneut versuchen.";
        incomplete_upload = "Der Container hat nicht alle Bytes der Datei empfangen. Erneut versuchen.";
        unreadable(name: &str) = format!("Der Browser kann die Datei {name} nicht lesen. Die Datei erneut auswählen.");
        not_saved = "Der Browser kann die Datei nicht speichern. Speicherplatz freigeben und erneut versuchen.";
        failed(message: &str) = format!("Die Übertragung ist fehlgeschlagen: {message}");
    }
}
