//! Messages of charts.

use crate::messages::translation;

translation! { German;
    chart: ChartTexts {
        cores(amount: &str) = match amount {
            "1" => "1 Kern".to_owned(),
            _ => format!("{amount} Kerne"),
        };
        summary(newest: &str, highest: &str) = format!("jetzt {newest}, Maximum {highest}");
        at(time: &str, value: &str) = format!("{time}: {value}");
    }

    metrics: Metrics {
        metrics = "Metriken";
        period = "Zeitraum";
        hour = "Letzte Stunde";
        six_hours = "Letzte 6 Stunden";
        day = "Letzter Tag";
        week = "Letzte 7 Tage";
        allocatable = "Verfügbar";
        the_usage = "CPU- und Speichernutzung";
        none = "Keine CPU- und Speichernutzung";
        none_advice = "Der Cluster misst laufende Pods etwa eine Minute nach ihrem Start. Ohne Messwerte metrics-server im Cluster installieren.";
        no_prometheus = "Messwerte von metrics-server seit dem Öffnen dieser Seite. Für frühere Werte Prometheus installieren: sein Service benötigt das Label app.kubernetes.io/name=prometheus und einen Port mit dem Namen http oder web oder der Nummer 9090.";
        no_series(service: &str) = format!("Messwerte von metrics-server seit dem Öffnen dieser Seite. Prometheus {service} hat keine Metriken von cAdvisor für dieses Objekt.");
        of_prometheus(service: &str) = format!("Quelle: Prometheus {service}");
        not_updated(service: &str, reason: &str) = format!("Quelle: Prometheus {service}. Die letzte Aktualisierung ist fehlgeschlagen: {reason}");
        search_forbidden = "Messwerte von metrics-server seit dem Öffnen dieser Seite. Frühere Werte erfordern die Berechtigung: services in allen Namespaces auflisten.";
        query_forbidden(service: &str) = format!("Messwerte von metrics-server seit dem Öffnen dieser Seite. Frühere Werte erfordern die Berechtigung: services/proxy für {service} lesen.");
        only_samples(reason: &str) = format!("Messwerte von metrics-server seit dem Öffnen dieser Seite. Keine früheren Werte: {reason}");
        prometheus_failed(error: &str) = format!("Prometheus: {error}");
    }
}
