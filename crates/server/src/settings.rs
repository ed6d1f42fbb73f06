//! Table: the parameters of `ns/parameters`, `ns/server/S` and their neighbours, each declared once.

use std::time::Duration;

use synopsis::{Int, Size, params};

params! {
    /// The process: paths, logs, limits that no single server owns.
    pub struct ProcessSettings in "ns/parameters" {
        /// Directory the process changes to after reading the configuration; relative paths start there.
        home: Option<String>,
        /// Directory of Tcl modules (`tcllibrary/MODULE/*.tcl`).
        tcllibrary: String = "tcl",
        /// Directory of programs, kept for existing configurations.
        bindir: String = "bin",
        /// Directory of log files.
        logdir: String = "logs",
        /// The system log; `serverlog` is its older name.
        systemlog: Option<String>,
        /// Older name of `systemlog`.
        serverlog: Option<String>,
        /// File that holds the process id while the server runs.
        pidfile: String = "nsd.pid",
        /// Directory of temporary files (default: `TMPDIR` or `/tmp`).
        tmpdir: Option<String>,
        /// Write logs from a thread of their own.
        asynclogwriter: bool = "false",
        /// Log severity Debug.
        logdebug: bool = "false",
        /// Log severity Dev.
        logdev: bool = "false",
        /// Log severity Notice.
        lognotice: bool = "true",
        /// Log time stamps with microseconds.
        logusec: bool = "false",
        /// Log the time since the previous line.
        logusecdiff: bool = "false",
        /// Log time stamps.
        logsec: bool = "true",
        /// Log the thread's name.
        logthread: bool = "true",
        /// Log time stamps relative to the start.
        logrelative: bool = "false",
        /// Log one message over several lines.
        logexpanded: bool = "false",
        /// Suppress repeated lines.
        logdeduplicate: bool = "false",
        /// Color the severity on terminals.
        logcolorize: bool = "false",
        /// Color of the prefix.
        logprefixcolor: String = "green",
        /// Intensity of the prefix.
        logprefixintensity: String = "normal",
        /// Rolled system logs that are kept.
        logmaxbackup: Int<1, 999> = "10",
        /// Roll the system log when SIGHUP arrives.
        logrollonsignal: bool = "true",
        /// Time stamp in the names of rolled logs (strftime); empty: numbers.
        logrollfmt: Option<String>,
        /// How control characters are written to logs: 0 raw, 1 full, 2 human-friendly, 3 human-friendly with tab.
        sanitizelogfiles: Int<0, 3> = "2",
        /// How long the end waits for running requests.
        shutdowntimeout: Duration = "20s",
        /// Jobs a scheduler thread runs before it ends; 0: no limit.
        schedsperthread: Int<0> = "0",
        /// Scheduled procedures that take longer are logged.
        schedlogminduration: Duration = "2s",
        /// Jobs (`ns_job`) a thread runs before it ends; 0: no limit.
        jobsperthread: Int<0> = "0",
        /// Idle job threads end after this time.
        jobtimeout: Duration = "5m",
        /// Jobs that take longer are logged.
        joblogminduration: Duration = "1s",
        /// Default length of the queue of not yet accepted connections.
        listenbacklog: Int<0> = "32",
        /// Accepts in a row that are worth a log line.
        sockacceptlog: Int<0> = "4",
        /// Upload progress is kept for requests with bodies of at least this size; 0: never.
        progressminsize: Size = "0",
        /// Charset of text responses.
        outputcharset: String = "utf-8",
        /// Charset of URLs and query data.
        urlcharset: String = "utf-8",
        /// Charset for form data that is not valid in `urlcharset`.
        formfallbackcharset: Option<String>,
        /// Trust `X-Forwarded-For` of a proxy in front.
        reverseproxymode: bool = "false",
        /// Cache answers of the name service.
        dnscache: bool = "true",
        /// Size of that cache.
        dnscachemaxsize: Size = "500KB",
        /// Life of its entries.
        dnscachetimeout: Duration = "60m",
        /// How long to wait for the name service.
        dnswaittimeout: Duration = "5s",
        /// Caches: `full`, or `none` on the nodes of a cluster.
        cachingmode: String = "full",
        /// Kept for existing configurations: interpreters are always created concurrently.
        concurrentinterpcreate: bool = "true",
        /// Kept for existing configurations.
        tclinitlock: bool = "false",
        /// Trace long waits for locks.
        mutexlocktrace: bool = "false",
        /// Updates of caches that may run at the same time.
        maxconcurrentupdates: Int<1> = "1000",
        /// Threads that serve outgoing requests.
        nshttptaskthreads: Int<1> = "1",
        /// Refuse requests whose connection closed while they waited.
        rejectalreadyclosedconn: bool = "true",
        /// Stack size of threads.
        stacksize: Option<Size>,
        /// Certificates are found by SNI.
        autosni: bool = "true",
        /// The server that answers for unknown hosts.
        defaultserver: Option<String>,
    }
}

params! {
    /// A virtual server and its default pool.
    pub struct ServerSettings in "ns/server/*" {
        /// Root of the server's files; relative to `home`.
        serverdir: String = "",
        /// Answer `If-Modified-Since`.
        checkmodifiedsince: bool = "true",
        /// Compress dynamic text.
        compressenable: bool = "false",
        /// Effort of the compression.
        compresslevel: Int<1, 9> = "4",
        /// Bodies below this size are not compressed.
        compressminsize: Size = "512",
        /// Compress with zstd for clients that name it (Navis).
        compresszstd: bool = "true",
        /// Compress with brotli for clients that name it (Navis).
        compressbrotli: bool = "false",
        /// Kept for existing configurations.
        compresspreinit: bool = "false",
        /// Notices shorter than this are padded.
        errorminsize: Size = "514",
        /// Header fields added to every response.
        extraheaders: Option<String>,
        /// Kept for existing configurations.
        filterrwlocks: bool = "true",
        /// Serve `*.tcl` files below the page directory as pages.
        enabletclpages: bool = "false",
        /// Answer requests for other hosts as a proxy.
        enablehttpproxy: bool = "false",
        /// Directory of this server's logs.
        logdir: Option<String>,
        /// ADP page that renders notices; empty: built in.
        noticeadp: String = "returnnotice.adp",
        /// Show details in notices.
        noticedetail: bool = "true",
        /// Realm of basic authorization.
        realm: Option<String>,
        /// Command that gives the root for a host.
        serverrootproc: Option<String>,
        /// Do not tell the server's name and version.
        stealthmode: bool = "false",
        /// Charset of text responses.
        outputcharset: Option<String>,
        /// Charset of URLs and query data.
        urlcharset: Option<String>,
        /// Charset for form data that is not valid in `urlcharset`.
        formfallbackcharset: Option<String>,
    }
}

params! {
    /// A pool of connection threads; the default pool reads them from `ns/server/S`.
    pub struct PoolSettings in "ns/server/*/pool/*" {
        /// `METHOD URL ?constraints?` of requests for this pool.
        map: Vec<String>,
        /// Threads that are kept.
        minthreads: Int<0> = "1",
        /// Threads that may exist.
        maxthreads: Int<1> = "10",
        /// Requests that may wait.
        maxconnections: Int<1> = "100",
        /// Requests a thread serves before it is replaced; 0: no limit.
        connsperthread: Int<0> = "10000",
        /// Idle threads above `minthreads` end after this time.
        threadtimeout: Duration = "2m",
        /// Filling of the queue (percent) above which a second thread is made.
        lowwatermark: Int<0, 100> = "10",
        /// Filling of the queue (percent) above which several threads are made at once.
        highwatermark: Int<0, 100> = "80",
        /// Answer 503 at once when the queue is full.
        rejectoverrun: bool = "false",
        /// `Retry-After` of such answers.
        retryafter: Duration = "5s",
        /// Limit of the pool's output (kB/s); 0: none.
        poolratelimit: Int<0> = "0",
        /// Limit of one connection's output (kB/s); 0: none.
        connectionratelimit: Int<0> = "0",
    }
}

params! {
    /// The Tcl side of a virtual server.
    pub struct TclSettings in "ns/server/*/tcl" {
        /// Directory of private Tcl files and modules.
        library: Option<String>,
        /// Start script of the reference; the start logic of Navis is built in.
        initfile: String = "bin/init.tcl",
        /// Scripts evaluated at the end of the server's start.
        initcmds: Vec<String>,
        /// Request headers that are added to logged errors.
        errorlogheaders: Option<String>,
        /// Kept for existing configurations: procedures are always made on first use.
        lazyloader: bool = "false",
        /// Kept for existing configurations.
        memoizecache: Option<Size>,
        /// Buckets of the shared variables.
        nsvbuckets: Int<1, 1024> = "8",
        /// Kept for existing configurations: reads of shared variables never exclude each other.
        nsvrwlocks: bool = "true",
    }
}

params! {
    /// Static files of a virtual server.
    pub struct FastpathSettings in "ns/server/*/fastpath" {
        /// Directory of pages; relative to `serverdir`.
        pagedir: String = "pages",
        /// Older place of the server's root.
        serverdir: Option<String>,
        /// Files that answer for a directory.
        directoryfile: String = "index.adp index.tcl index.html index.htm",
        /// Listing of directories without such a file.
        directorylisting: String = "none",
        /// Command that renders a listing.
        directoryproc: Option<String>,
        /// Page that renders a listing.
        directoryadp: Option<String>,
        /// Leave out names that begin with a dot.
        hidedotfiles: bool = "true",
        /// Send an entity tag (own parameter).
        etag: bool = "false",
    }
}

params! {
    /// Static files of all servers.
    pub struct GlobalFastpathSettings in "ns/fastpath" {
        /// Keep small files in memory.
        cache: bool = "false",
        /// Memory for them.
        cachemaxsize: Size = "10MB",
        /// Largest file that is kept.
        cachemaxentry: Size = "8KB",
        /// Look at a cached file again only after this time; 0: with every request (own parameter).
        cachecheck: Duration = "0s",
        /// Kept for existing configurations: files are sent without copying.
        mmap: bool = "false",
        /// Send `FILE.gz` where the client takes it.
        gzip_static as "gzip_static": bool = "false",
        /// Make `FILE.gz` anew when it is stale.
        gzip_refresh as "gzip_refresh": bool = "false",
        /// Command that makes `FILE.gz`.
        gzip_cmd as "gzip_cmd": Option<String>,
        /// Send `FILE.br` where the client takes it.
        brotli_static as "brotli_static": bool = "false",
        /// Send `FILE.zst` where the client takes it (Navis).
        zstd_static as "zstd_static": bool = "false",
        /// Make `FILE.br` anew when it is stale.
        brotli_refresh as "brotli_refresh": bool = "false",
        /// Command that makes `FILE.br`.
        brotli_cmd as "brotli_cmd": Option<String>,
        /// Command that makes style sheets smaller.
        minify_css_cmd as "minify_css_cmd": Option<String>,
        /// Command that makes scripts smaller.
        minify_js_cmd as "minify_js_cmd": Option<String>,
    }
}

params! {
    /// Mass virtual hosting: a page root for each host.
    pub struct VhostSettings in "ns/server/*/vhost" {
        /// Serve each host from a directory of its own.
        enabled: bool = "false",
        /// Path between the server's root and the host's directory.
        hostprefix: Option<String>,
        /// Directories made of the first letters of the host.
        hosthashlevel: Int<0, 5> = "0",
        /// Leave the port out.
        stripport: bool = "true",
        /// Leave `www.` out.
        stripwww: bool = "true",
    }
}
