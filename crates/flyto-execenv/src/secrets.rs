//! Where programs keep secrets of their user: keys, tokens, passwords, cookies, and what was typed.
//!
//! [`SECRETS`] is data: one row for each place, with where it is documented. [`places`] turns it
//! into the paths of one user and one environment. The sandbox profiles close all of them. A usual
//! place is in the result whether it is there or not.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use crate::Environment;

/// A place that [`Profile::Workspace`](crate::Profile::Workspace) and [`Profile::Strict`](crate::Profile::Strict)
/// close.
///
/// ```
/// use flyto_execenv::{Moved, SECRETS, SecretBase};
///
/// let aws = SECRETS.iter().find(|it| it.path == ".aws").expect("it is in the list");
/// assert_eq!(aws.base, SecretBase::Home);
/// assert!(aws.moved.contains(&Moved::Path("AWS_CONFIG_FILE")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Secret {
    /// The directory in which it lies.
    pub base: SecretBase,
    /// Its path below the base.
    ///
    /// Relative, without `.` and `..`. All that lies below it is closed as well.
    pub path: &'static str,
    /// Where it is documented: an address, or a page of the manual.
    pub source: &'static str,
    /// What moves it elsewhere. The usual place stays closed as well.
    pub moved: &'static [Moved],
}

/// The directory in which a secret lies (XDG Base Directory Specification).
///
/// The variable counts where it is set; the directory below the home directory is closed in any
/// case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretBase {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, and `~/.config`.
    Config,
    /// `$XDG_DATA_HOME`, and `~/.local/share`.
    Data,
    /// `$XDG_STATE_HOME`, and `~/.local/state`.
    State,
    /// `$XDG_CACHE_HOME`, and `~/.cache`.
    Cache,
}

/// A variable that moves a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moved {
    /// Its value is the secret's own path.
    ///
    /// As in `NETRC=/run/keys/netrc`.
    Path(&'static str),
    /// Its value is a directory in which the secret lies under this path.
    ///
    /// As in `CARGO_HOME=/opt/cargo`, where the token is `credentials.toml`.
    Below(&'static str, &'static str),
    /// Its value is a list of paths, separated as in `PATH`.
    ///
    /// As in `KUBECONFIG=/a:/b`.
    List(&'static str),
}

use Moved::{Below, List, Path as At};

impl Secret {
    const fn new(base: SecretBase, path: &'static str, source: &'static str) -> Self {
        Self { base, path, source, moved: &[] }
    }

    const fn moved(self, moved: &'static [Moved]) -> Self {
        Self { moved, ..self }
    }
}

const fn home(path: &'static str, source: &'static str) -> Secret {
    Secret::new(SecretBase::Home, path, source)
}

const fn config(path: &'static str, source: &'static str) -> Secret {
    Secret::new(SecretBase::Config, path, source)
}

const fn data(path: &'static str, source: &'static str) -> Secret {
    Secret::new(SecretBase::Data, path, source)
}

const fn state(path: &'static str, source: &'static str) -> Secret {
    Secret::new(SecretBase::State, path, source)
}

const fn cache(path: &'static str, source: &'static str) -> Secret {
    Secret::new(SecretBase::Cache, path, source)
}

impl SecretBase {
    /// The variable that names the directory, and where the directory is without it, below the home directory.
    const fn names(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Home => (None, ""),
            Self::Config => (Some("XDG_CONFIG_HOME"), ".config"),
            Self::Data => (Some("XDG_DATA_HOME"), ".local/share"),
            Self::State => (Some("XDG_STATE_HOME"), ".local/state"),
            Self::Cache => (Some("XDG_CACHE_HOME"), ".cache"),
        }
    }
}

impl Moved {
    const fn variable(self) -> &'static str {
        match self {
            Self::Path(name) | Self::Below(name, _) | Self::List(name) => name,
        }
    }
}

/// What an environment says about the places of secrets; nothing else of it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables(BTreeMap<&'static str, OsString>);

impl Variables {
    /// The variables that move secrets.
    pub(crate) fn of(environment: &Environment) -> Self {
        let own = SECRETS.iter().flat_map(|it| it.moved.iter().map(|it| it.variable()));
        let bases = SECRETS.iter().filter_map(|it| it.base.names().0);
        let value = |name| Some((name, environment.get(name)?.to_owned()));
        Self(own.chain(bases).filter_map(value).collect())
    }

    fn paths(&self, moved: Moved) -> Vec<PathBuf> {
        let Some(value) = self.0.get(moved.variable()) else { return Vec::new() };
        match moved {
            At(_) => vec![value.into()],
            Below(_, path) => vec![Path::new(value).join(path)],
            List(_) => std::env::split_paths(value).collect(),
        }
    }
}

/// All places of secrets: the usual ones in each of these home directories, and where variables move them.
///
/// A variable that names no place of its own moves nothing: `/dev/null`, or a path that `is_wide`, such as the home
/// directory itself. A relative path is meant below `working_dir`, and only if it is there: most that look like one say
/// that there is no such file, such as `LESSHISTFILE=-`.
pub(crate) fn places<'a>(
    homes: impl Iterator<Item = &'a PathBuf>,
    variables: &Variables,
    working_dir: &Path,
    is_wide: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut res = Vec::new();
    for home in homes {
        res.extend(SECRETS.iter().map(|it| home.join(it.base.names().1).join(it.path)));
    }
    // Most environments move few of them.
    if variables.0.is_empty() {
        return res;
    }
    let usual: HashSet<PathBuf> = res.iter().cloned().collect();
    for secret in SECRETS {
        let base = secret.base.names().0.and_then(|name| variables.0.get(name));
        let base = base.map(|it| Path::new(it).join(secret.path));
        let moved = secret.moved.iter().flat_map(|it| variables.paths(*it));
        for path in base.into_iter().chain(moved) {
            if path.as_os_str().is_empty() {
                continue;
            }
            let here = working_dir.join(&path);
            if path.is_relative() && here.symlink_metadata().is_err() {
                continue;
            }
            let found = plain(&here).into_iter();
            res.extend(found.filter(|it| !is_wide(it) && !usual.contains(it)));
        }
    }
    res
}

/// An absolute path without `.` and `..`: as it is written, and as the system goes where `..` follows a link.
fn plain(path: &Path) -> BTreeSet<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let climbs = parts.iter().rposition(|it| *it == Component::ParentDir);
    let mut written = PathBuf::new();
    for part in &parts {
        match part {
            Component::ParentDir => drop(written.pop()),
            part => written.push(part),
        }
    }
    let gone = climbs.and_then(|at| {
        let way: PathBuf = parts[..=at].iter().collect();
        let rest: PathBuf = parts[at + 1..].iter().collect();
        Some(way.canonicalize().ok()?.join(rest))
    });
    gone.into_iter().chain([written]).collect()
}

/// Every place that is closed, with its source.
#[rustfmt::skip] // One row a line reads as the table it is.
pub const SECRETS: &[Secret] = &[
    // Keys.
    home(".ssh", "ssh(1)"),
    home(".gnupg", "gpg(1)").moved(&[At("GNUPGHOME")]),
    home(".pki", "https://chromium.googlesource.com/chromium/src/+/main/docs/linux/cert_management.md"),
    config("age", "a usual place for the keys of age(1)"),
    config("sops", "https://github.com/getsops/sops#encrypting-using-age").moved(&[At("SOPS_AGE_KEY_FILE")]),
    home(".passage", "https://github.com/FiloSottile/passage").moved(&[At("PASSAGE_IDENTITIES_FILE")]),
    home(".Xauthority", "Xsecurity(7)").moved(&[At("XAUTHORITY")]),
    // Clouds and clusters.
    home(".aws", "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html").moved(&[At("AWS_SHARED_CREDENTIALS_FILE"), At("AWS_CONFIG_FILE")]),
    home(".azure", "https://learn.microsoft.com/cli/azure/azure-cli-configuration").moved(&[At("AZURE_CONFIG_DIR")]),
    home(".bluemix", "https://cloud.ibm.com/docs/cli"),
    home(".boto", "https://cloud.google.com/storage/docs/boto-gsutil").moved(&[At("BOTO_CONFIG")]),
    home(".cloudflared", "https://developers.cloudflare.com/cloudflare-one/connections/connect-networks/"),
    home(".databricks/token-cache.json", "https://docs.databricks.com/dev-tools/auth/oauth-u2m.html"),
    home(".databrickscfg", "https://docs.databricks.com/dev-tools/auth/config-profiles.html").moved(&[At("DATABRICKS_CONFIG_FILE")]),
    home(".dbt/profiles.yml", "https://docs.getdbt.com/docs/core/connect-data-platform/profiles.yml").moved(&[Below("DBT_PROFILES_DIR", "profiles.yml")]),
    home(".doppler", "https://docs.doppler.com/docs/secrets-setup-guide"),
    home(".fly", "https://fly.io/docs/flyctl/").moved(&[At("FLY_CONFIG_DIR")]),
    home(".kube", "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/").moved(&[List("KUBECONFIG")]),
    home(".mc", "https://min.io/docs/minio/linux/reference/minio-mc.html").moved(&[At("MC_CONFIG_DIR")]),
    home(".ngrok2", "https://ngrok.com/docs/agent/config/"),
    home(".now", "the former name of `.vercel`"),
    home(".oci", "https://docs.oracle.com/iaas/Content/API/Concepts/sdkconfig.htm").moved(&[At("OCI_CLI_CONFIG_FILE")]),
    home(".okta", "https://github.com/okta/okta-sdk-python#configuration-reference"),
    home(".pulumi/credentials.json", "https://www.pulumi.com/docs/iac/cli/environment-variables/").moved(&[Below("PULUMI_HOME", "credentials.json")]),
    home(".railway", "https://docs.railway.com/guides/cli"),
    home(".rancher/cli2.json", "https://ranchermanager.docs.rancher.com/reference-guides/cli-with-rancher/rancher-cli").moved(&[Below("RANCHER_CONFIG_DIR", "cli2.json")]),
    home(".s3cfg", "https://s3tools.org/kb/item14.htm"),
    home(".snowflake", "https://docs.snowflake.com/en/developer-guide/snowflake-cli/connecting/configure-cli").moved(&[At("SNOWFLAKE_HOME")]),
    home(".snowsql", "https://docs.snowflake.com/en/user-guide/snowsql-config"),
    home(".stripe", "a former place of the next"),
    config("stripe", "https://docs.stripe.com/stripe-cli/keys"),
    home(".step/secrets", "https://smallstep.com/docs/step-cli/the-step-command/").moved(&[Below("STEPPATH", "secrets")]),
    home(".supabase", "https://github.com/supabase/cli"),
    home(".talos", "https://www.talos.dev/latest/reference/cli/").moved(&[List("TALOSCONFIG")]),
    home(".terraform.d/credentials.tfrc.json", "https://developer.hashicorp.com/terraform/cli/config/config-file"),
    home(".terraformrc", "https://developer.hashicorp.com/terraform/cli/config/config-file").moved(&[At("TF_CLI_CONFIG_FILE")]),
    home(".tsh", "https://goteleport.com/docs/connect-your-client/teleport-clients/tsh/").moved(&[At("TELEPORT_HOME")]),
    home(".vault-token", "https://developer.hashicorp.com/vault/docs/commands/token-helper"),
    home(".vault_pass.txt", "https://docs.ansible.com/ansible/latest/vault_guide/vault_managing_passwords.html").moved(&[At("ANSIBLE_VAULT_PASSWORD_FILE")]),
    home(".vercel", "https://vercel.com/docs/projects/project-configuration/global-configuration"),
    data("com.vercel.cli", "https://vercel.com/docs/projects/project-configuration/global-configuration"),
    home(".wrangler", "https://developers.cloudflare.com/workers/wrangler/"),
    config(".wrangler", "https://developers.cloudflare.com/workers/wrangler/"),
    config("argocd", "https://argo-cd.readthedocs.io/en/stable/user-guide/commands/argocd_login/"),
    config("configstore/firebase-tools.json", "https://firebase.google.com/docs/cli"),
    config("doctl", "https://docs.digitalocean.com/reference/doctl/"),
    config("gcloud", "https://cloud.google.com/sdk/docs/configurations").moved(&[At("CLOUDSDK_CONFIG"), At("GOOGLE_APPLICATION_CREDENTIALS")]),
    config("hcloud", "https://github.com/hetznercloud/cli").moved(&[At("HCLOUD_CONFIG")]),
    config("heroku", "https://devcenter.heroku.com/articles/authentication"),
    config("linode-cli", "https://www.linode.com/docs/products/tools/cli/"),
    config("netlify", "https://docs.netlify.com/cli/get-started/"),
    config("ngrok", "https://ngrok.com/docs/agent/config/"),
    config("openstack", "https://docs.openstack.org/python-openstackclient/latest/configuration/").moved(&[At("OS_CLIENT_CONFIG_FILE")]),
    config("rclone", "https://rclone.org/docs/#config-string").moved(&[At("RCLONE_CONFIG")]),
    config("scw", "https://github.com/scaleway/scaleway-cli").moved(&[At("SCW_CONFIG_PATH")]),
    // Containers and packages.
    home(".bundle/config", "https://bundler.io/man/bundle-config.1.html").moved(&[At("BUNDLE_USER_CONFIG")]),
    home(".cargo/credentials", "https://doc.rust-lang.org/cargo/reference/config.html#credentials").moved(&[Below("CARGO_HOME", "credentials")]),
    home(".cargo/credentials.toml", "https://doc.rust-lang.org/cargo/reference/config.html#credentials").moved(&[Below("CARGO_HOME", "credentials.toml")]),
    home(".composer/auth.json", "https://getcomposer.org/doc/articles/authentication-for-private-packages.md").moved(&[Below("COMPOSER_HOME", "auth.json")]),
    home(".bunfig.toml", "https://bun.com/docs/runtime/bunfig"),
    config(".bunfig.toml", "https://bun.com/docs/runtime/bunfig"),
    config("cachix", "https://docs.cachix.org/getting-started"),
    config("composer/auth.json", "https://getcomposer.org/doc/articles/authentication-for-private-packages.md"),
    config("containers/auth.json", "containers-auth.json(5)").moved(&[At("REGISTRY_AUTH_FILE")]),
    config("helm/registry/config.json", "https://helm.sh/docs/helm/helm/").moved(&[At("HELM_REGISTRY_CONFIG")]),
    config("helm/repositories.yaml", "https://helm.sh/docs/helm/helm/").moved(&[At("HELM_REPOSITORY_CONFIG")]),
    home(".pip/pip.conf", "https://pip.pypa.io/en/stable/topics/configuration/"),
    config("pip/pip.conf", "https://pip.pypa.io/en/stable/topics/configuration/").moved(&[At("PIP_CONFIG_FILE")]),
    config("pypoetry/auth.toml", "https://python-poetry.org/docs/configuration/").moved(&[Below("POETRY_CONFIG_DIR", "auth.toml")]),
    home(".docker/config.json", "https://docs.docker.com/reference/cli/docker/").moved(&[Below("DOCKER_CONFIG", "config.json")]),
    home(".gem/credentials", "https://guides.rubygems.org/publishing/"),
    data("gem/credentials", "https://guides.rubygems.org/publishing/"),
    home(".hex/hex.config", "https://hex.pm/docs/publish").moved(&[Below("HEX_HOME", "hex.config")]),
    home(".gradle/gradle.properties", "https://docs.gradle.org/current/userguide/build_environment.html").moved(&[Below("GRADLE_USER_HOME", "gradle.properties")]),
    home(".ivy2/.credentials", "https://www.scala-sbt.org/1.x/docs/Publishing.html"),
    home(".sbt/.credentials", "https://www.scala-sbt.org/1.x/docs/Publishing.html"),
    home(".m2/settings-security.xml", "https://maven.apache.org/guides/mini/guide-encryption.html"),
    home(".m2/settings.xml", "https://maven.apache.org/settings.html"),
    home(".npmrc", "https://docs.npmjs.com/cli/configuring-npm/npmrc").moved(&[At("NPM_CONFIG_USERCONFIG"), At("npm_config_userconfig")]),
    home(".nuget/NuGet/NuGet.Config", "https://learn.microsoft.com/nuget/consume-packages/configuring-nuget-behavior"),
    home(".pypirc", "https://packaging.python.org/specifications/pypirc/"),
    home(".yarnrc.yml", "https://yarnpkg.com/configuration/yarnrc"),
    data("uv/credentials", "https://docs.astral.sh/uv/concepts/authentication/").moved(&[At("UV_CREDENTIALS_DIR")]),
    // Forges and services.
    home(".authinfo", "https://www.gnu.org/software/emacs/manual/html_mono/auth.html"),
    home(".authinfo.gpg", "https://www.gnu.org/software/emacs/manual/html_mono/auth.html"),
    home(".circleci/cli.yml", "https://circleci.com/docs/local-cli/"),
    home(".curlrc", "curl(1)").moved(&[Below("CURL_HOME", ".curlrc")]),
    config("curlrc", "curl(1)"),
    home(".expo/state.json", "https://docs.expo.dev/more/expo-cli/"),
    config("gh", "https://cli.github.com/manual/gh_help_environment").moved(&[At("GH_CONFIG_DIR")]),
    config("git/credentials", "git-credential-store(1)"),
    config("glab-cli", "https://gitlab.com/gitlab-org/cli").moved(&[At("GLAB_CONFIG_DIR")]),
    config("hub", "https://hub.github.com/hub.1.html").moved(&[At("HUB_CONFIG")]),
    config("tea", "https://gitea.com/gitea/tea"),
    home(".git-credentials", "git-credential-store(1)"),
    home(".netrc", "https://everything.curl.dev/usingcurl/netrc.html").moved(&[At("NETRC")]),
    home("_netrc", "https://everything.curl.dev/usingcurl/netrc.html"),
    home(".sentryclirc", "https://docs.sentry.io/cli/configuration/"),
    home(".wgetrc", "https://www.gnu.org/software/wget/manual/html_node/Wgetrc-Location.html").moved(&[At("WGETRC")]),
    home(".travis", "https://github.com/travis-ci/travis.rb").moved(&[At("TRAVIS_CONFIG_PATH")]),
    // Databases.
    home(".cassandra", "https://cassandra.apache.org/doc/stable/cassandra/tools/cqlsh.html"),
    home(".influxdbv2", "https://docs.influxdata.com/influxdb/v2/reference/cli/influx/config/").moved(&[At("INFLUX_CONFIGS_PATH")]),
    home(".mongodb", "https://www.mongodb.com/docs/mongodb-shell/logs/"),
    home(".my.cnf", "https://dev.mysql.com/doc/refman/en/option-files.html"),
    home(".mylogin.cnf", "https://dev.mysql.com/doc/refman/en/mysql-config-editor.html").moved(&[At("MYSQL_TEST_LOGIN_FILE")]),
    home(".pg_service.conf", "https://www.postgresql.org/docs/current/libpq-pgservice.html").moved(&[At("PGSERVICEFILE")]),
    home(".pgpass", "https://www.postgresql.org/docs/current/libpq-pgpass.html").moved(&[At("PGPASSFILE")]),
    data("DBeaverData", "https://dbeaver.com/docs/dbeaver/Workspace-Location/"),
    // Models and agents, this one included.
    home(".aider", "https://aider.chat/docs/config/"),
    home(".aider.conf.yml", "https://aider.chat/docs/config/aider_conf.html"),
    home(".claude", "https://docs.claude.com/en/docs/claude-code/settings").moved(&[At("CLAUDE_CONFIG_DIR")]),
    home(".claude.json", "https://docs.claude.com/en/docs/claude-code/settings"),
    home(".codeium", "https://docs.windsurf.com/windsurf/cascade/mcp"),
    home(".codex", "https://github.com/openai/codex/blob/main/docs/config.md").moved(&[At("CODEX_HOME")]),
    home(".continue", "https://docs.continue.dev/reference").moved(&[At("CONTINUE_GLOBAL_DIR")]),
    home(".copilot", "https://docs.github.com/copilot/concepts/agents/about-copilot-cli").moved(&[At("COPILOT_HOME")]),
    home(".cursor", "https://docs.cursor.com/context/model-context-protocol"),
    home(".gemini", "https://github.com/google-gemini/gemini-cli"),
    home(".huggingface", "the former place of the token of Hugging Face"),
    home(".kaggle", "https://www.kaggle.com/docs/api").moved(&[At("KAGGLE_CONFIG_DIR")]),
    home(".ollama", "https://github.com/ollama/ollama/blob/main/docs/faq.md"),
    home(".qwen", "https://github.com/QwenLM/qwen-code"),
    home(".zeptoclaw", "https://github.com/qhkm/zeptoclaw"),
    cache("huggingface/stored_tokens", "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables").moved(&[Below("HF_HOME", "stored_tokens")]),
    cache("huggingface/token", "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables").moved(&[Below("HF_HOME", "token"), At("HF_TOKEN_PATH")]),
    config("Code/User/globalStorage", "https://code.visualstudio.com/api/references/vscode-api#SecretStorage"),
    config("Cursor/User/globalStorage", "the same of a fork of that editor"),
    config("aichat", "https://github.com/sigoden/aichat/wiki/Environment-Variables").moved(&[At("AICHAT_CONFIG_DIR")]),
    data("amp/secrets.json", "https://ampcode.com/manual"),
    data("jupyter/runtime", "https://docs.jupyter.org/en/latest/use/jupyter-directories.html").moved(&[At("JUPYTER_RUNTIME_DIR")]),
    config("flyto", "the host's `Places`"),
    config("github-copilot", "https://docs.github.com/copilot"),
    config("goose", "https://block.github.io/goose/docs/guides/config-file"),
    config("io.datasette.llm", "https://llm.datasette.io/en/stable/keys.html").moved(&[At("LLM_USER_PATH")]),
    config("opencode", "https://opencode.ai/docs/config/"),
    data("opencode", "https://opencode.ai/docs/providers/"),
    state("flyto", "the host's `Places`"),
    state("opencode", "https://github.com/anomalyco/opencode"),
    // Password stores and wallets.
    home(".bitcoin", "https://en.bitcoin.it/wiki/Data_directory"),
    home(".electrum", "https://electrum.readthedocs.io/en/latest/faq.html").moved(&[At("ELECTRUMDIR")]),
    home(".ethereum", "https://geth.ethereum.org/docs/fundamentals/account-management"),
    home(".foundry/keystores", "https://getfoundry.sh/cast/reference/wallet/"),
    home(".lpass", "https://lastpass.github.io/lastpass-cli/lpass.1.html").moved(&[At("LPASS_HOME")]),
    data("lpass", "https://lastpass.github.io/lastpass-cli/lpass.1.html"),
    home(".password-store", "pass(1)").moved(&[At("PASSWORD_STORE_DIR")]),
    config("1Password", "https://support.1password.com/"),
    config("Bitwarden", "https://bitwarden.com/help/data-storage/"),
    config("Bitwarden CLI", "https://bitwarden.com/help/data-storage/").moved(&[At("BITWARDENCLI_APPDATA_DIR")]),
    config("gopass", "https://www.gopass.pw/docs/"),
    data("gopass", "https://www.gopass.pw/docs/"),
    config("keepassxc", "https://keepassxc.org/docs/"),
    config("op", "https://developer.1password.com/docs/cli/config-directories/").moved(&[At("OP_CONFIG_DIR")]),
    config("solana", "https://docs.anza.xyz/cli/"),
    data("keyrings", "https://wiki.gnome.org/Projects/GnomeKeyring"),
    data("kwalletd", "https://docs.kde.org/stable5/en/kwalletmanager/kwallet5/"),
    // Browsers, mail and messengers; programs of Flatpak and Snap with all they keep.
    home(".librewolf", "https://librewolf.net/docs/faq/"),
    config("librewolf", "https://librewolf.net/docs/faq/"),
    home(".mozilla", "https://support.mozilla.org/kb/profiles-where-firefox-stores-user-data"),
    config("mozilla", "https://support.mozilla.org/kb/profiles-where-firefox-stores-user-data"),
    home(".thunderbird", "https://support.mozilla.org/kb/profiles-where-thunderbird-stores-user-data"),
    home(".waterfox", "https://www.waterfox.net/docs/"),
    home(".zen", "https://docs.zen-browser.app/"),
    config("BraveSoftware", "https://support.brave.com/"),
    config("chromium", "https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md"),
    config("google-chrome", "https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md"),
    config("google-chrome-beta", "https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md"),
    config("google-chrome-unstable", "https://chromium.googlesource.com/chromium/src/+/main/docs/user_data_dir.md"),
    config("microsoft-edge", "https://learn.microsoft.com/deployedge/"),
    config("opera", "https://help.opera.com/"),
    config("vivaldi", "https://help.vivaldi.com/"),
    data("qutebrowser", "https://qutebrowser.org/doc/help/"),
    config("Element", "https://github.com/element-hq/element-desktop"),
    config("Signal", "https://support.signal.org/"),
    config("Slack", "https://slack.com/help/"),
    config("discord", "https://support.discord.com/"),
    data("TelegramDesktop", "https://github.com/telegramdesktop/tdesktop"),
    config("aerc", "aerc-accounts(5)"),
    config("evolution", "https://wiki.gnome.org/Apps/Evolution"),
    data("evolution", "https://wiki.gnome.org/Apps/Evolution"),
    home(".fetchmailrc", "fetchmail(1)"),
    home(".mbsyncrc", "mbsync(1)"),
    home(".msmtprc", "msmtp(1)"),
    config("msmtp", "msmtp(1)"),
    home(".offlineimaprc", "https://www.offlineimap.org/doc/"),
    home(".weechat", "https://weechat.org/doc/").moved(&[At("WEECHAT_HOME")]),
    config("weechat", "https://weechat.org/doc/"),
    home(".var/app", "https://docs.flatpak.org/en/latest/sandbox-permissions.html"),
    home("snap", "https://snapcraft.io/docs/data-locations"),
    // Remote files and desktops.
    home(".davfs2/secrets", "mount.davfs(8)"),
    home(".smbcredentials", "mount.cifs(8)"),
    home(".vnc/passwd", "vncpasswd(1)"),
    config("tigervnc/passwd", "vncpasswd(1)"),
    config("syncthing", "https://docs.syncthing.net/users/config.html"),
    state("syncthing", "https://docs.syncthing.net/users/config.html").moved(&[At("STHOMEDIR")]),
    config("filezilla", "https://wiki.filezilla-project.org/"),
    config("remmina", "https://remmina.org/"),
    data("remmina", "https://remmina.org/"),
    // What was typed into shells, interpreters and editors.
    home(".bash_history", "bash(1)").moved(&[At("HISTFILE")]),
    state("bash", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    data("bash", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    home(".histfile", "zsh-newuser-install of zsh(1)"),
    home(".zhistory", "zshparam(1)"),
    home(".zsh_history", "zshparam(1)").moved(&[Below("ZDOTDIR", ".zsh_history"), Below("ZDOTDIR", ".zhistory"), Below("ZDOTDIR", ".histfile")]),
    home(".zsh_sessions", "zsh(1) on macOS").moved(&[Below("ZDOTDIR", ".zsh_sessions")]),
    config("zsh/.zsh_history", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    state("zsh", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    data("zsh/history", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    cache("zsh/history", "https://wiki.archlinux.org/title/XDG_Base_Directory"),
    home(".history", "tcsh(1)"),
    home(".tcsh_history", "a usual value of `histfile` in tcsh(1)"),
    home(".sh_history", "ksh(1)"),
    home(".ksh_history", "a usual value of `HISTFILE` in ksh(1)"),
    data("fish/fish_history", "https://fishshell.com/docs/current/cmds/history.html"),
    config("nushell/history.sqlite3", "https://www.nushell.sh/book/configuration.html"),
    config("nushell/history.sqlite3-wal", "https://www.nushell.sh/book/configuration.html"),
    config("nushell/history.txt", "https://www.nushell.sh/book/configuration.html"),
    data("atuin", "https://docs.atuin.sh/"),
    data("xonsh", "https://xon.sh/tutorial_hist.html"),
    state("elvish", "https://elv.sh/ref/command.html"),
    home(".clickhouse-client-history", "https://clickhouse.com/docs/interfaces/cli").moved(&[At("CLICKHOUSE_HISTORY_FILE")]),
    home(".dbshell", "https://www.mongodb.com/docs/manual/reference/program/mongo/#files"),
    home(".duckdb_history", "https://duckdb.org/docs/stable/clients/cli/overview"),
    home(".gdb_history", "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Command-History.html").moved(&[At("GDBHISTFILE")]),
    home(".ghc/ghci_history", "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html"),
    home(".ipython/profile_default/history.sqlite", "https://ipython.readthedocs.io/en/stable/development/config.html").moved(&[Below("IPYTHONDIR", "profile_default/history.sqlite")]),
    home(".irb_history", "https://docs.ruby-lang.org/en/master/IRB.html"),
    home(".julia/logs", "https://docs.julialang.org/en/v1/stdlib/REPL/").moved(&[At("JULIA_HISTORY")]),
    home(".lesshst", "less(1)").moved(&[At("LESSHISTFILE")]),
    state("lesshst", "less(1)"),
    data("lesshst", "less(1)"),
    home(".mysql_history", "https://dev.mysql.com/doc/refman/en/mysql-logging.html").moved(&[At("MYSQL_HISTFILE")]),
    home(".node_repl_history", "https://nodejs.org/api/repl.html").moved(&[At("NODE_REPL_HISTORY")]),
    home(".psql_history", "https://www.postgresql.org/docs/current/app-psql.html").moved(&[At("PSQL_HISTORY")]),
    config("pgcli/history", "https://www.pgcli.com/config"),
    home(".python_history", "https://docs.python.org/3/library/site.html").moved(&[At("PYTHON_HISTORY")]),
    home(".rediscli_history", "https://redis.io/docs/latest/develop/tools/cli/").moved(&[At("REDISCLI_HISTFILE")]),
    home(".Rhistory", "https://stat.ethz.ch/R-manual/R-devel/library/utils/html/savehistory.html").moved(&[At("R_HISTFILE")]),
    home(".sqlite_history", "https://sqlite.org/cli.html").moved(&[At("SQLITE_HISTORY")]),
    home(".viminfo", "https://vimhelp.org/starting.txt.html#viminfo"),
    state("nvim/shada", "https://neovim.io/doc/user/starting.html#shada"),
    data("nvim/shada", "https://neovim.io/doc/user/starting.html#shada"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Vec<PathBuf> {
        places([PathBuf::from("/h")].iter(), &Variables::default(), Path::new("/w"), |_| false)
    }

    /// Where variables move secrets to, beside the usual places.
    #[track_caller]
    fn check(environment: &[(&str, &str)], expect: &[&str]) {
        let variables = Variables::of(&environment.iter().copied().collect());
        let wide = |it: &Path| Path::new("/h").starts_with(it) || it.starts_with("/dev");
        let all = places([PathBuf::from("/h")].iter(), &variables, Path::new("/w"), wide);
        let n_usual = usual().len();
        assert_eq!(all[..n_usual], usual());
        let moved: Vec<_> = all[n_usual..].iter().map(|it| it.to_str().expect("text")).collect();
        assert_eq!(moved, expect, "{environment:?}");
    }

    #[test]
    fn secrets_are_listed_once_as_plain_paths_with_a_source() {
        let usual = usual();
        let listed: BTreeSet<_> = usual.iter().collect();
        assert_eq!(listed.len(), usual.len());
        for secret in SECRETS {
            assert!(!secret.path.starts_with('/') && !secret.path.ends_with('/'), "{secret:?}");
            let is_page = secret.source.ends_with(')') && secret.source.contains('(');
            let is_known = secret.source.starts_with("https://") || is_page;
            let is_said = secret.source.split(' ').count() > 2 || secret.source.contains('`');
            assert!(is_known || is_said, "{secret:?}");
        }
        for secret in &usual {
            let outer = usual.iter().find(|it| *it != secret && secret.starts_with(it));
            assert_eq!(outer, None, "{secret:?} is covered");
        }
    }

    #[test]
    fn what_is_known_to_hold_secrets_is_closed() {
        let usual = usual();
        for path in [
            ".zeptoclaw",
            ".zsh_history",
            ".local/state/zsh",
            ".local/state/bash",
            ".config/nushell/history.txt",
            ".local/share/fish/fish_history",
            ".librewolf",
            ".databrickscfg",
            ".ollama",
            ".local/share/opencode",
            ".supabase",
            ".stripe",
            ".config/stripe",
            ".vercel",
            ".local/share/com.vercel.cli",
            ".viminfo",
            ".local/state/nvim/shada",
            ".lesshst",
            ".local/state/lesshst",
            ".ssh",
            ".config/flyto",
        ] {
            assert!(usual.contains(&Path::new("/h").join(path)), "{path}");
        }
    }

    #[test]
    fn a_variable_moves_a_secret() {
        check(&[], &[]);
        check(&[("GNUPGHOME", "/g")], &["/g"]);
        check(&[("DOCKER_CONFIG", "/d")], &["/d/config.json"]);
        check(&[("CARGO_HOME", "/c")], &["/c/credentials", "/c/credentials.toml"]);
        check(&[("KUBECONFIG", "/k/one:/k/two")], &["/k/one", "/k/two"]);
        check(&[("HISTFILE", "/s/history"), ("TERM", "x")], &["/s/history"]);
        check(
            &[("AWS_CONFIG_FILE", "/a/config"), ("AWS_SHARED_CREDENTIALS_FILE", "/a/keys")],
            &["/a/keys", "/a/config"],
        );
        for name in [
            "AZURE_CONFIG_DIR",
            "CLAUDE_CONFIG_DIR",
            "CLOUDSDK_CONFIG",
            "CODEX_HOME",
            "GH_CONFIG_DIR",
            "NETRC",
            "NPM_CONFIG_USERCONFIG",
            "PASSWORD_STORE_DIR",
            "PGPASSFILE",
        ] {
            check(&[(name, "/x/y")], &["/x/y"]);
        }
    }

    #[test]
    fn a_base_directory_moves_all_that_lies_in_it() {
        let variables = Variables::of(&[("XDG_STATE_HOME", "/s")].into_iter().collect());
        let all = places([PathBuf::from("/h")].iter(), &variables, Path::new("/w"), |_| false);
        let in_state = SECRETS.iter().filter(|it| it.base == SecretBase::State).count();
        assert_eq!(all.len(), usual().len() + in_state);
        assert!(all.contains(&"/s/nvim/shada".into()));
        check(&[("XDG_CACHE_HOME", "/h/.cache")], &[]);
    }

    #[test]
    fn what_names_no_place_of_its_own_moves_nothing() {
        check(&[("HISTFILE", "/dev/null"), ("LESSHISTFILE", "-"), ("NETRC", "")], &[]);
        check(&[("GNUPGHOME", "/h"), ("CODEX_HOME", "/"), ("AZURE_CONFIG_DIR", "/h/..")], &[]);
        check(&[("KUBECONFIG", ":/k:rel"), ("XDG_CONFIG_HOME", "rel")], &["/k"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_climbs_is_closed_as_it_is_written_and_as_the_system_goes() {
        check(&[("GNUPGHOME", "/not/there/../g/./keys")], &["/not/g/keys"]);
        let dir = tempfile::tempdir().expect("there is room");
        let root = dir.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(root.join("real/inner")).expect("it is ours");
        std::os::unix::fs::symlink("real/inner", root.join("link")).expect("it is ours");
        let closed = |value: &str| -> Vec<PathBuf> {
            let variables = Variables::of(&[("GNUPGHOME", value)].into_iter().collect());
            places([].iter(), &variables, &root, |_| false)
        };
        let climbing = root.join("link/../keys").display().to_string();
        assert_eq!(closed(&climbing), [root.join("keys"), root.join("real/keys")]);
        // Below the working directory, what is there.
        assert_eq!(closed("real/inner"), [root.join("real/inner")]);
        assert_eq!(closed("./link/.."), [root.clone(), root.join("real")]);
        assert!(closed("-").is_empty());
    }
}
