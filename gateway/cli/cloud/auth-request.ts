import { Failure } from '#common/errors.ts'
import type { CloudConfig } from './cloud-config.ts'

type Auth = CloudConfig['auth']
type Reference = Readonly<Record<string, unknown>>

/** What `clouds.yaml` leaves out, Keystone's clients take for this. */
const DEFAULT_DOMAIN = 'default'

/** The body of `POST /v3/auth/tokens`. Throws `invalid` for a cloud with an unknown type of credential. */
export function authRequest(cloud: CloudConfig): object {
  const { auth } = cloud
  const kind = credentialKind(cloud)
  if (kind === 'application_credential')
    return { auth: { identity: { methods: [kind], [kind]: applicationCredential(auth) } } }
  const identity =
    kind === 'token'
      ? { methods: [kind], token: { id: needed(cloud, 'token') } }
      : { methods: [kind], password: { user: { ...user(auth), password: needed(cloud, kind) } } }
  const scope = scopeOf(auth)
  return { auth: { identity, ...(scope === undefined ? {} : { scope }) } }
}

type CredentialKind = 'password' | 'token' | 'application_credential'

function credentialKind({ name, auth, authType }: CloudConfig): CredentialKind {
  const type = authType?.replace(/^v3/, '').replaceAll('_', '')
  if (type === 'applicationcredential') return 'application_credential'
  if (type === 'password' || type === 'token') return type
  if (type !== undefined)
    throw new Failure(
      'invalid',
      `The auth_type ${authType} of cloud ${name} is not supported. Use one of: password, token, v3applicationcredential.`,
    )
  if (auth['application_credential_secret'] !== undefined) return 'application_credential'
  return auth['password'] === undefined && auth['token'] !== undefined ? 'token' : 'password'
}

function needed({ name, auth }: CloudConfig, key: string): string {
  const value = auth[key]
  if (value !== undefined) return value
  throw new Failure(
    'invalid',
    `Cloud ${name} has no ${key}. Set OS_${key.toUpperCase()}, or write it into clouds.yaml.`,
  )
}

function applicationCredential(auth: Auth): Reference {
  const secret = auth['application_credential_secret']
  const id = auth['application_credential_id']
  if (id !== undefined) return { id, secret }
  return { name: auth['application_credential_name'], secret, user: user(auth) }
}

function user(auth: Auth): Reference {
  const id = auth['user_id']
  if (id !== undefined) return { id }
  return { name: auth['username'], domain: domain(auth, 'user_') }
}

/** Undefined: the user's default project decides. */
function scopeOf(auth: Auth): Reference | undefined {
  if (auth['system_scope'] === 'all') return { system: { all: true } }
  if (auth['project_id'] !== undefined) return { project: { id: auth['project_id'] } }
  if (auth['project_name'] !== undefined)
    return { project: { name: auth['project_name'], domain: domain(auth, 'project_') } }
  const isDomain = auth['domain_id'] !== undefined || auth['domain_name'] !== undefined
  return isDomain ? { domain: domain(auth, '') } : undefined
}

function domain(auth: Auth, prefix: 'user_' | 'project_' | ''): Reference {
  const id = auth[`${prefix}domain_id`]
  if (id !== undefined) return { id }
  const name = auth[`${prefix}domain_name`]
  return name === undefined ? { id: DEFAULT_DOMAIN } : { name }
}
