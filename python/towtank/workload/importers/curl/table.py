"""Lists the options of curl, their short names, the options that need a value, and how the importer handles each
option.

The names are those of `curl --help all` in curl 7.88.1, as listed by `scripts/import-keys`.
"""

from __future__ import annotations

from dataclasses import replace

from towtank.workload.importers.accounting import key_table

# A short name stands before its option, as in `X/request`. An option that needs a value ends with `=`.
(_WRITTEN,) = key_table("""\
options
    noted abstract-unix-socket= alt-svc= connect-to= dns-interface= dns-ipv4-addr= dns-ipv6-addr= dns-servers=
        doh-cert-status doh-insecure doh-url= interface= 4/ipv4 6/ipv6 local-port= resolve= unix-socket=: set the
        address of the target with --address
    noted anyauth aws-sigv4= delegation= digest krb= login-options= negotiate n/netrc netrc-file= netrc-optional ntlm
        ntlm-wb sasl-authzid= sasl-ir service-name=: only Basic authentication and bearer tokens are supported
    noted a/append compressed-ssh C/continue-at= crlf disable-eprt disable-epsv disallow-username-in-url etag-save=
        expect100-timeout= form-escape ftp-account= ftp-alternative-to-user= ftp-create-dirs ftp-method= ftp-pasv
        P/ftp-port= ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode= ftp-ssl-control happy-eyeballs-timeout-ms=
        hostpubmd5= hostpubsha256= ignore-content-length j/junk-session-cookies limit-rate= l/list-only mail-auth=
        mail-from= mail-rcpt= mail-rcpt-allowfails max-filesize= metalink no-keepalive proto= proto-default= pubkey=
        Q/quote= raw request-target= Y/speed-limit= y/speed-time= tcp-fastopen t/telnet-option= tftp-blksize=
        tftp-no-options tr-encoding B/use-ascii: has no counterpart in a workload
    harmless basic keepalive-time= tcp-nodelay: is the default
    noted cacert= capath= E/cert= cert-status cert-type= ciphers= crlfile= curves= egd-file= engine= false-start hsts=
        k/insecure key= key-type= no-alpn no-npn no-sessionid pass= pinnedpubkey= random-file= ssl ssl-allow-beast
        ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort 2/sslv2 3/sslv3 tls-max= tls13-ciphers=
        tlsauthtype= tlspassword= tlsuser= 1/tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3: certificates and TLS are set for
        the target, not in the workload
    noted compressed: responses are requested without compression, so that they can be checked
    noted K/config=: the options in that file are not read
    carried connect-timeout= m/max-time=: `timeout`, `connect_timeout`
    noted b/cookie=: left out: every user keeps the cookies that the server sets; add the login to the workload
    noted c/cookie-jar=: every user has its own cookies
    harmless create-dirs create-file-mode= q/disable D/dump-header= f/fail fail-with-body h/help= i/include libcurl=
        M/manual N/no-buffer no-clobber no-progress-meter o/output= output-dir= #/progress-bar J/remote-header-name
        O/remote-name remote-name-all R/remote-time remove-on-error S/show-error s/silent stderr= styled-output
        suppress-connect-headers trace= trace-ascii= trace-time v/verbose V/version w/write-out= xattr: concerns the
        output and files of curl, not the request
    carried d/data= data-ascii= data-binary= data-raw= data-urlencode= json=: body
    noted etag-compare= z/time-cond=: users have no cache and request the whole content
    noted fail-early: after a failed request, the other requests of the line are still sent
    carried F/form= form-string=: `multipart`
    carried G/get I/head X/request= T/upload-file= url= url-query=: method, path and query
    carried g/globoff path-as-is: without these options, sets and ranges denote several URLs, and `..` is resolved
    noted haproxy-protocol noproxy= preproxy= x/proxy= proxy-anyauth proxy-basic proxy-cacert= proxy-capath=
        proxy-cert= proxy-cert-type= proxy-ciphers= proxy-crlfile= proxy-digest proxy-header= proxy-insecure
        proxy-key= proxy-key-type= proxy-negotiate proxy-ntlm proxy-pass= proxy-pinnedpubkey= proxy-service-name=
        proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers= proxy-tlsauthtype= proxy-tlspassword=
        proxy-tlsuser= proxy-tlsv1 U/proxy-user= proxy1.0= p/proxytunnel socks4= socks4a= socks5= socks5-basic
        socks5-gssapi socks5-gssapi-nec socks5-gssapi-service= socks5-hostname=: requests go to the target directly
    carried H/header= r/range= e/referer= A/user-agent=: headers
    noted http0.9 0/http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only: the version of HTTP is set for the
        target
    noted L/location location-trusted max-redirs= post301 post302 post303 proto-redir=: redirects are not followed;
        add the next request as a step
    carried :/next: a separate request
    carried oauth2-bearer= u/user=: `auth`, header Authorization
    noted Z/parallel parallel-immediate parallel-max= rate=: the requests of a user are sequential
    noted retry= retry-all-errors retry-connrefused retry-delay= retry-max-time=: each request is sent once; failures
        are counted
""").values()

_LONG = {name: name.removeprefix(name[: name.find("/") + 1]) for name in _WRITTEN}
OPTIONS = {_LONG[name]: replace(key, default=()) for name, key in _WRITTEN.items()}
SHORT = {name[0]: long for name, long in _LONG.items() if name != long}
# Options of curl that need a value.
VALUED = frozenset(_LONG[name] for name, key in _WRITTEN.items() if key.default)
