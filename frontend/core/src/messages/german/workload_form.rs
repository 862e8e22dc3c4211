//! Messages of the form for workloads.

use crate::messages::translation;

translation! { German;
    workload_form: WorkloadFormTexts {
        title = "Workload mit einem Formular schreiben";
        write = "YAML schreiben";
        replicas = "Replicas";
        port = "Port";
        port_help = "Ein Service stellt den Port im Cluster bereit. Ohne Port das Feld leer lassen.";
        schedule = "Zeitplan";
        schedule_help = "Minute, Stunde, Tag, Monat und Wochentag, zum Beispiel 0 3 * * *, oder @daily";
        shell_command = "Befehl";
        command_help = "Eine Shell im Container führt den Befehl aus. Für das Programm des Images das Feld leer lassen.";
        variables = "Umgebungsvariablen";
        variables_help = "Eine je Zeile: NAME=Wert";
        cpu = "Angeforderte CPU";
        cpu_help = "Zum Beispiel 100m";
        memory = "Speicher";
        memory_help = "Anforderung und Grenze, zum Beispiel 128Mi";
        invalid_name = "Höchstens 63 Kleinbuchstaben, Ziffern und Bindestriche verwenden. Am Anfang und am Ende einen Buchstaben oder eine Ziffer verwenden.";
        invalid_service_name = "Ein Port benötigt einen Service, dessen Name mit einem Buchstaben beginnt. Den Namen mit einem Buchstaben beginnen.";
        invalid_image = "Ein Image eingeben, zum Beispiel nginx:1.27";
        invalid_replicas = "Eine Zahl von 0 bis 65535 eingeben";
        invalid_port = "Eine Zahl von 1 bis 65535 eingeben";
        invalid_schedule = "Fünf Felder eingeben, zum Beispiel 0 3 * * *, oder einen Namen wie @daily";
        invalid_amount = "Eine Menge über 0 eingeben, zum Beispiel 100m oder 128Mi";
    }
}
