//! Table of the programs that only read, and their approved options.
//!
//! Pure data. Any other option asks the user. Each option was checked against the program's
//! manual (GNU coreutils, findutils, grep, diffutils; util-linux; procps; ripgrep; tree; jq).
//! Options that write, run a program, read a list of further files, or wait are left out.

use super::options::{ANY, Operands, Options};
use super::rule::{Deep, Rule, plain};
use super::{find, git, network, scripts, special};

const HASH: Rule = plain(
    "-bctwz --check --binary --text --tag --zero --quiet --status --strict --warn --ignore-missing",
    ANY,
);
const GREP: Rule = Rule::Search(
    Options::new(
        "-#  -EFGPivwxcLlqsobHhnTzarIy -e= -A= -B= -C= -m= --regexp= --extended-regexp --fixed-strings \
         --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp \
         --line-regexp --count --files-without-match --files-with-matches --only-matching --quiet --silent \
         --no-messages --byte-offset --with-filename --no-filename --line-number --initial-tab --null \
         --null-data --text --recursive --include= --exclude= --exclude-dir= --after-context= \
         --before-context= --context= --max-count= --color? --colour? --label= --binary-files=",
    ),
    Deep::WhenAsked,
);
const VERSION: Rule = Rule::Version(&["--version"]);
const VERSION_V: Rule = Rule::Version(&["--version", "-v"]);
const VERSION_UPPER: Rule = Rule::Version(&["--version", "-V"]);

/// Programs by name, in alphabetical order.
#[rustfmt::skip] // One row per program is easier to check against its manual.
pub(super) const PROGRAMS: &[(&str, Rule)] = &[
    ("[", Rule::By(special::bracket)),
    ("arch", plain("", Operands::None)),
    ("awk", Rule::By(scripts::awk)),
    ("b2sum", HASH),
    ("base32", plain("-di -w= --decode --ignore-garbage --wrap=", Operands::Paths(1))),
    ("base64", plain("-di -w= --decode --ignore-garbage --wrap=", Operands::Paths(1))),
    ("basename", plain("-az -s= --multiple --suffix= --zero", ANY)),
    ("cargo", VERSION_UPPER),
    ("cat", plain("-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank \
        --show-tabs --show-nonprinting", ANY)),
    ("cd", Rule::By(special::cd)),
    ("cksum", plain("", ANY)),
    ("cmp", plain("-bls -n= -i= --print-bytes --verbose --quiet --silent --bytes= \
        --ignore-initial=", Operands::Paths(2))),
    ("column", plain("-tx -s= -o= -c= -N= --table --separator= --output-separator= --columns=", ANY)),
    ("comm", plain("-123z --check-order --nocheck-order --output-delimiter= --total \
        --zero-terminated", Operands::Paths(2))),
    ("command", Rule::By(special::command)),
    ("curl", Rule::By(network::curl)),
    ("cut", plain("-sz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement \
        --only-delimited --output-delimiter= --zero-terminated", ANY)),
    ("date", Rule::By(special::date)),
    ("df", plain("-ahHiklTP -t= -x= -B= --all --human-readable --si --inodes --local \
        --portability --print-type --total --type= --exclude-type= --block-size= --output?", ANY)),
    ("diff", Rule::Search(Options::new("-#  -abBcdeEiNnpqrstTuwyZ -C= -U= -W= -x= -I= --text \
        --ignore-space-change --ignore-blank-lines --brief --context? --unified? --minimal --ed \
        --ignore-tab-expansion --ignore-case --new-file --rcs --show-c-function --recursive \
        --report-identical-files --expand-tabs --initial-tab --ignore-all-space --side-by-side \
        --ignore-trailing-space --width= --exclude= --suppress-common-lines --strip-trailing-cr \
        --left-column --color? --label= --speed-large-files"), Deep::WhenAsked)),
    ("dig", Rule::By(network::dig)),
    ("dirname", plain("-z --zero", ANY)),
    // Other commands reach the daemon, which runs as root.
    ("docker", Rule::Version(&["--version", "-v"])),
    // Not `--files0-from` and `-X`, which read lists of files.
    ("du", plain("-0abcDhHklLmsSx -d= -B= -t= --all --apparent-size --bytes --total --dereference \
        --human-readable --summarize --max-depth= --one-file-system --separate-dirs --block-size= \
        --exclude= --threshold= --time? --time-style= --si --inodes --null", ANY)),
    ("echo", Rule::By(special::echo)),
    ("egrep", GREP),
    // Without operands it only prints its variables. Those of an approved command are no
    // secrets.
    ("env", plain("", Operands::None)),
    ("expand", plain("-i -t= --initial --tabs=", ANY)),
    ("expr", Rule::By(special::text)),
    ("false", Rule::By(special::text)),
    ("fgrep", GREP),
    // Not `-C`, which writes a compiled file, nor `-z`, which may run a decompressor.
    ("file", plain("-bhiLkNnr0 -F= --brief --mime --mime-type --mime-encoding --extension \
        --no-dereference --dereference --keep-going --no-pad --raw --separator=", ANY)),
    ("find", Rule::By(find::check)),
    ("fmt", plain("-ctsu -w= -g= -p= --width=", ANY)),
    ("fold", plain("-bs -w= --bytes --spaces --width=", ANY)),
    ("free", plain("-bkmghwtl --bytes --kibi --mebi --gibi --human --wide --total --si", Operands::None)),
    ("gcc", VERSION),
    ("git", Rule::By(git::check)),
    ("go", Rule::Version(&["version"])),
    ("grep", GREP),
    ("groups", plain("", Operands::Text)),
    ("head", plain("-#  -qvz -c= -n= --bytes= --lines= --quiet --silent --verbose \
        --zero-terminated", ANY)),
    // Not `-f`, which reads another file.
    ("hexdump", plain("-bcCdovx -n= -s= --canonical --length= --skip= --no-squeezing", ANY)),
    // An operand would set the name.
    ("hostname", plain("-sI --short --all-ip-addresses", Operands::None)),
    ("id", plain("-agGnruzZ --group --groups --name --real --user --zero", Operands::Text)),
    ("join", plain("-iz -1= -2= -a= -e= -j= -o= -t= -v= --ignore-case --check-order \
        --nocheck-order --header --zero-terminated", Operands::Paths(2))),
    ("jq", Rule::By(special::jq)),
    ("kubectl", Rule::By(special::kubectl)),
    ("ls", plain("-aAbBcCdfFgGhHiIklLmnNopqQrRsStuUvxXZ1 -w= -T= --all --almost-all --author \
        --escape --block-size= --ignore-backups --color? --directory --classify? --file-type \
        --format= --full-time --group-directories-first --no-group --human-readable --si \
        --dereference --dereference-command-line --hide= --indicator-style= --inode --ignore= \
        --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars \
        --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= \
        --width= --context --zero", ANY)),
    ("lscpu", plain("-abceJpxy --all --online --offline --json --extended? --parse?", Operands::None)),
    ("make", VERSION_V),
    ("mawk", Rule::By(scripts::awk)),
    ("gawk", Rule::By(scripts::awk)),
    ("md5sum", HASH),
    ("nl", plain("-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= \
        --starting-line-number= --number-width= --number-separator= --number-format=", ANY)),
    ("node", VERSION_V),
    ("nproc", plain("--all --ignore=", Operands::None)),
    ("npm", VERSION_V),
    ("nslookup", Rule::By(network::nslookup)),
    ("numfmt", plain("-z -d= --delimiter= --field= --format= --from= --from-unit= --grouping \
        --header? --invalid= --padding= --round= --suffix= --to= --to-unit=", Operands::Text)),
    ("od", plain("-abcdfilosvx -A= -j= -N= -S= -t= -w= --address-radix= --skip-bytes= \
        --read-bytes= --format= --output-duplicates", ANY)),
    ("paste", plain("-sz -d= --delimiters= --serial --zero-terminated", ANY)),
    ("perl", VERSION_V),
    ("ping", Rule::By(network::ping)),
    ("pip", VERSION_UPPER),
    ("pip3", VERSION_UPPER),
    ("pr", plain("-adFfmtTJrv -h= -i= -l= -n= -N= -o= -s= -S= -w= -W= --columns= --width= \
        --omit-header --merge --length= --header=", ANY)),
    ("printenv", plain("-0 --null", Operands::Text)),
    ("printf", Rule::By(special::printf)),
    ("ps", Rule::By(special::ps)),
    ("pwd", plain("-LP", Operands::None)),
    ("python", VERSION_UPPER),
    ("python3", VERSION_UPPER),
    ("readlink", plain("-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing \
        --no-newline --quiet --silent --verbose --zero", ANY)),
    ("realpath", plain("-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical \
        --physical --quiet --relative-to= --relative-base= --strip --no-symlinks --zero", ANY)),
    ("rev", plain("-0 --zero", ANY)),
    // Not `--pre`, `--search-zip`, and `--hostname-bin`, which run programs.
    ("rg", Rule::Search(Options::new("-#  -abcFHhIilNnopPqsSUuvwx0. -A= -B= -C= -d= -e= -E= -g= \
        -j= -m= -M= -r= -t= -T= --after-context= --before-context= --context= --count \
        --count-matches --case-sensitive --color= --column --no-column --crlf --encoding= --files \
        --files-with-matches --files-without-match --fixed-strings --glob= --iglob= --heading \
        --no-heading --hidden --no-hidden --ignore-case --include-zero --invert-match --json \
        --line-number --no-line-number --line-regexp --max-columns= --max-columns-preview \
        --max-count= --max-depth= --max-filesize= --multiline --multiline-dotall --no-config \
        --no-filename --no-ignore --no-ignore-vcs --no-ignore-dot --no-ignore-parent \
        --no-ignore-global --no-messages --null --null-data --one-file-system --only-matching \
        --passthru --path-separator= --pcre2 --pretty --quiet --regexp= --replace= --smart-case \
        --sort= --sortr= --stats --stop-on-nonmatch --text --threads= --trim --type= --type-list \
        --type-not= --unrestricted --vimgrep --with-filename --word-regexp --engine="), Deep::Always)),
    ("ruby", VERSION_V),
    ("rustc", Rule::Version(&["--version", "-V"])),
    ("sed", Rule::By(scripts::sed)),
    ("seq", Rule::By(special::text)),
    ("sha1sum", HASH),
    ("sha224sum", HASH),
    ("sha256sum", HASH),
    ("sha384sum", HASH),
    ("sha512sum", HASH),
    ("sleep", plain("", Operands::Text)),
    // Not `-o` and `-T`, which write, nor `--compress-program`, which runs a program.
    ("sort", plain("-bcCdfghiMnRrsuVz -k= -t= --ignore-leading-blanks --dictionary-order \
        --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting \
        --month-sort --numeric-sort --random-sort --reverse --sort= --version-sort --check? \
        --key= --stable --field-separator= --unique --zero-terminated", ANY)),
    ("stat", plain("-fLt -c= --dereference --file-system --format= --printf= --terse", ANY)),
    ("sum", plain("-rs --sysv", ANY)),
    ("tac", Rule::By(special::tac)),
    ("tail", Rule::By(special::tail)),
    ("test", Rule::By(special::test)),
    ("tr", plain("-cCdst --complement --delete --squeeze-repeats --truncate-set1", Operands::Text)),
    // Not `-o`, which writes a file.
    ("tree", plain("exact -adfilxpsuhgDFqNQrtcUvnCJX -L= -P= -I= --dirsfirst --du --filesfirst \
        --gitignore --ignore-case --inodes --matchdirs --noreport --prune --si", ANY)),
    ("true", Rule::By(special::text)),
    ("tty", plain("-s", Operands::None)),
    ("type", plain("-aptP", Operands::Text)),
    ("uname", plain("-amnoprsvi --all --machine --nodename --operating-system --processor \
        --kernel-release --kernel-name --kernel-version --hardware-platform", Operands::None)),
    ("unexpand", plain("-a -t= --all --first-only --tabs=", ANY)),
    // A second operand is a file to write.
    ("uniq", Rule::First(Options::new("-cdDiuz -f= -s= -w= --count --repeated --all-repeated? \
        --skip-fields= --group? --ignore-case --skip-chars= --unique --zero-terminated \
        --check-chars="), Operands::Paths(1))),
    ("uptime", plain("-ps --pretty --since", Operands::None)),
    // Not `--files0-from`, which reads a list of files.
    ("wc", plain("-clLmw --bytes --chars --lines --max-line-length --words --total=", ANY)),
    ("wget", Rule::By(network::wget)),
    ("which", plain("-as", Operands::Text)),
    ("whoami", plain("", Operands::None)),
    // A second operand is a file to write.
    ("xxd", Rule::First(Options::new("exact -a -b -e -E -i -u -p -C -c= -g= -l= -s="), Operands::Paths(1))),
    (":", Rule::By(special::text)),
];

/// The rule for a program.
pub(super) fn rule(name: &str) -> Option<Rule> {
    let found = PROGRAMS.iter().find(|(program, _)| *program == name);
    found.map(|(_, rule)| *rule)
}
