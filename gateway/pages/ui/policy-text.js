// Placement policies as the options of `./weir policy create` write them.

const toleration = ({ key, value, effect }) => `${key}${value == null ? '' : `=${value}`}${effect == null ? '' : `:${effect}`}`
const selector = ({ cells = [], labels = {} }) => [...cells, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].join(',') || '*'
const spread = ({ over, max_skew: skew = 1, is_required: isRequired = false }) => `${over}:${skew}${isRequired ? ':required' : ''}`
const limits = (given) => Object.entries(given).filter(([, limit]) => limit !== null).map(([name, limit]) => `${name}=${limit}`)

/** The lists and rules of a policy, each as lines of text. */
export function linesOf(policy) {
  return {
    projects: policy.projects,
    flavors: policy.flavors,
    tolerations: policy.tolerations.map(toleration),
    preference: policy.preference.map(selector),
    spread: policy.spread === null ? [] : [spread(policy.spread)],
    limits: policy.limits === null ? [] : limits(policy.limits),
  }
}

/** What lines of text mean in the API. Throws an `Error` with a line that means nothing. */
export const MEANT = {
  projects: (lines) => lines,
  flavors: (lines) => lines,
  tolerations: (lines) =>
    lines.map((line) => {
      const { key, value, effect } = read(line, /^(?<key>[^=:]+)(?:=(?<value>[^=:]*))?(?::(?<effect>NoSchedule|PreferNoSchedule))?$/, 'KEY, KEY=VALUE or KEY=VALUE:EFFECT')
      return { key, value: value ?? null, effect: effect ?? null }
    }),
  preference: (lines) => lines.map((line) => (line === '*' ? {} : selected(line))),
  spread: ([line]) => {
    if (line === undefined) return null
    const { over, skew, required } = read(line, /^(?<over>cell|zone)(?::(?<skew>\d{1,4})(?<required>:required)?)?$/, 'cell or zone, such as zone:2 or cell:1:required')
    return { over, max_skew: Number(skew ?? 1), is_required: required !== undefined }
  },
  limits: (lines) => {
    if (lines.length === 0) return null
    const found = lines.map((line) => read(line, /^(?<name>servers|vcpus|memory_mb)=(?<amount>\d{1,9})$/, 'servers=N, vcpus=N or memory_mb=N'))
    return Object.fromEntries(found.map(({ name, amount }) => [name, Number(amount)]))
  },
}

function selected(line) {
  const parts = line.split(',')
  if (parts.includes('')) throw new Error(`'${line}' is not understood: give KEY=VALUE or the name of a cell, several with commas, or *.`)
  const labels = parts.filter((part) => part.includes('=')).map((part) => read(part, /^(?<key>[^=]+)=(?<value>[^=]*)$/, 'KEY=VALUE'))
  return { cells: parts.filter((part) => !part.includes('=')), labels: Object.fromEntries(labels.map(({ key, value }) => [key, value])) }
}

function read(line, pattern, wanted) {
  const found = pattern.exec(line)
  if (found === null) throw new Error(`'${line}' is not understood: give ${wanted}.`)
  return found.groups
}

/** The option of the command line for each. */
export const OPTION = { projects: 'project', flavors: 'flavor', tolerations: 'tolerate', preference: 'prefer', spread: 'spread', limits: 'limit' }
