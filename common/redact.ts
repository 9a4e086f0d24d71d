/** Names whose values are never logged, in any spelling: `X-Auth-Token`, `admin_pass`, `adminPass`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'originalpassword',
  'adminpass',
  'adminpassword',
  'token',
  'xauthtoken',
  'xsubjecttoken',
  'xservicetoken',
  'authorization',
  'cookie',
  'secret',
  'secretkey',
  'privatekey',
  'userdata',
  'personality',
  'ticket',
  'seed',
  'databaseurl',
])

const CENSOR = '[redacted]'
/** Deeper than any request; what lies below is not logged at all. */
const DEPTH_MAX = 10

/** A copy fit for a log: values under the names of secrets are gone, at any depth. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEPTH_MAX) return CENSOR
  if (Array.isArray(value)) return value.map((item) => redacted(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).map(([name, each]) => {
    return [name, isSecretName(name) && each != null ? CENSOR : redacted(each, depth + 1)]
  })
  return Object.fromEntries(entries)
}

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replace(/[-_]/g, ''))
}
