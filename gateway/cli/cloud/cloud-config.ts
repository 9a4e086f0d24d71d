import type { Env } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import type { CloudEntry, Clouds } from './clouds-file.ts'

/** The options that select the cloud; they take precedence over the environment, and the environment over the file. */
export interface CloudOptions {
  readonly osCloud?: string
  readonly osRegionName?: string
  readonly osCacert?: string
  readonly insecure?: true
}

/** The account and endpoint of a cloud, and how its certificate is verified. */
export interface CloudConfig {
  readonly name: string
  /** Names of openstacksdk, such as `auth_url` and `project_name`. */
  readonly auth: Readonly<Record<string, string>>
  readonly authType: string | undefined
  readonly region: string | undefined
  readonly interface: string
  readonly caFile: string | undefined
  readonly isInsecure: boolean
}

/** What openstacksdk calls the cloud that the environment describes. */
const ENVIRONMENT = 'envvars'
const AUTH_VARIABLES = [
  'auth_url',
  'username',
  'user_id',
  'password',
  'project_name',
  'project_id',
  'user_domain_name',
  'user_domain_id',
  'project_domain_name',
  'project_domain_id',
  'domain_name',
  'domain_id',
  'system_scope',
  'application_credential_id',
  'application_credential_name',
  'application_credential_secret',
  'token',
] as const

/**
 * The selected cloud: the named one, else the one that the environment describes, else the `fallback`, else the only
 * one. Throws `not-found` or `invalid`, listing the known names.
 */
export function cloudConfig(
  options: CloudOptions,
  env: Env,
  clouds: Clouds,
  fallback: string,
): CloudConfig {
  const [name, entry] = meantCloud(options, env, clouds, fallback)
  const caFile = options.osCacert ?? setting(env, 'cacert') ?? entry.cacert
  const isInsecure =
    options.insecure === true ||
    isTrue(setting(env, 'insecure')) ||
    entry.insecure === true ||
    entry.verify === false
  return {
    name,
    auth: entry.auth ?? {},
    authType: entry.auth_type,
    region: options.osRegionName ?? setting(env, 'region_name') ?? entry.region_name,
    interface: (setting(env, 'interface') ?? entry.interface ?? 'public').replace(/URL$/, ''),
    caFile,
    isInsecure,
  }
}

function meantCloud(
  { osCloud }: CloudOptions,
  env: Env,
  clouds: Clouds,
  fallback: string,
): readonly [name: string, entry: CloudEntry] {
  const named = osCloud ?? setting(env, 'cloud')
  if (named === undefined || named === ENVIRONMENT) {
    const described = environmentCloud(env)
    if (described !== undefined) return [ENVIRONMENT, described]
  }
  const names = Object.keys(clouds)
  const name = named ?? (names.length === 1 ? names[0] : undefined) ?? fallback
  const entry = clouds[name]
  if (entry !== undefined) return [name, entry]
  const known = names.length === 0 ? 'No clouds.yaml was found.' : `There are: ${names.join(', ')}.`
  if (named === undefined)
    throw new Failure(
      'invalid',
      `Which cloud? Set OS_CLOUD, or give --os-cloud. ${known} Without gateways in this directory there is no default; ./weir up creates a deployment in an empty directory.`,
    )
  throw new Failure('not-found', `There is no cloud ${name}. ${known}`)
}

function environmentCloud(env: Env): CloudEntry | undefined {
  if (setting(env, 'auth_url') === undefined) return undefined
  const auth = AUTH_VARIABLES.flatMap((name) => {
    const value = setting(env, name)
    return value === undefined ? [] : [[name, value]]
  })
  const authType = setting(env, 'auth_type')
  return {
    auth: Object.fromEntries(auth),
    ...(authType === undefined ? {} : { auth_type: authType }),
  }
}

function setting(env: Env, name: string): string | undefined {
  const value = env[`OS_${name.toUpperCase()}`]
  return value === '' ? undefined : value
}

function isTrue(text: string | undefined): boolean {
  return text !== undefined && ['1', 'true', 'yes'].includes(text.toLowerCase())
}
