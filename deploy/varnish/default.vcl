# Varnish in front of Location Context, as benchmarks/cdn.py measures it. It honours the service's
# Cache-Control, gives what is stale while it fetches anew or while the service is down, and drops the
# pages of a tag when an import asks for it:
#
#     varnishd -a :6081 -f /etc/varnish/default.vcl -s malloc,1g
#     LOCATION_CONTEXT_PURGE_URL=http://127.0.0.1:6081/
#     LOCATION_CONTEXT_PURGE_HEADER="X-Purge-Key: a secret of your own"
#     LOCATION_CONTEXT_TRUSTED_PROXIES=127.0.0.1/32
vcl 4.1;

import std;

backend default {
    .host = "127.0.0.1";
    .port = "8000";
    .probe = { .url = "/v1/ready"; .interval = 5s; .timeout = 2s; .window = 3; .threshold = 2; }
}

acl purgers { "127.0.0.1"; "::1"; }  # from where the service and its commands come

sub vcl_recv {
    if (req.method == "POST") {
        if (client.ip !~ purgers || req.http.X-Purge-Key != "a secret of your own") {
            return (synth(403));
        }
        if (req.http.Surrogate-Key !~ "^[A-Za-z0-9:_ -]+$") {
            return (synth(400));
        }
        if (!std.ban("obj.http.Surrogate-Key ~ (^|\s)("
                + regsuball(req.http.Surrogate-Key, " +", "|") + ")(\s|$)")) {
            return (synth(500, std.ban_error()));
        }
        return (synth(200, "Purged"));
    }
    unset req.http.Cookie;  # the service reads none
    # what campaigns add changes no page; one order of parameters makes one page of two
    set req.url = regsuball(req.url, "(?<=[?&])(utm_[a-z]+|gclid|fbclid|msclkid)=[^&]*&?", "");
    set req.url = std.querysort(regsub(req.url, "[?&]+$", ""));
    if (std.healthy(req.backend_hint)) {
        set req.grace = 60s;  # as stale-while-revalidate says
    }
}

sub vcl_backend_response {
    if (beresp.http.Cache-Control ~ "stale-if-error=3600") {
        set beresp.grace = 1h;
    } else {
        set beresp.grace = 0s;  # a page that lacks something
    }
}

sub vcl_deliver {
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.CDN-Cache-Control;
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
