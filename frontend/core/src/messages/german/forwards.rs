//! Messages of port forwards.

use crate::messages::translation;

translation! { German;
    forwards: Forwards {
        title = "Portweiterleitungen";
        menu = "Port weiterleiten…";
        help = "Öffnet den Port in einem neuen Tab mit einem eigenen Hostnamen. Das Programm im Pod muss HTTP ohne TLS verwenden.";
        port = "Port";
        other = "Anderer Port";
        number = "Portnummer";
        number_help = "Eine Zahl von 1 bis 65535.";
        open = "Weiterleiten und öffnen";
        opened(pod: &str) = format!("Der Port des Pods {pod} öffnet sich in einem neuen Tab.");
        blocked = "Der Browser hat den neuen Tab blockiert. Den Link innerhalb einer Minute öffnen.";
        open_link = "Portweiterleitung öffnen";
        list_help = "Nur der Browser, der eine Portweiterleitung geöffnet hat, hat Zugriff. Eine Portweiterleitung endet nach 15 Minuten ohne übertragene Bytes und beim Abmelden.";
        target = "Ziel";
        since = "Erstellt";
        last_use = "Zuletzt verwendet";
        transferred = "Übertragen";
        bytes(sent: &str, received: &str) = format!("{sent} gesendet, {received} empfangen");
        actions = "Aktionen";
        stop = "Beenden";
        stopped(target: &str) = format!("Die Portweiterleitung zu {target} wurde beendet.");
        empty = "Keine Portweiterleitungen";
        empty_advice = "Einen Pod oder Service öffnen und „Port weiterleiten…“ wählen.";
    }
}
