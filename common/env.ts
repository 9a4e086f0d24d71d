import { readFileSync } from 'node:fs'
import { nearestName } from './nearest-name.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Wrong settings; the message has a line for each, with the reason. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'

  constructor(problems: readonly string[]) {
    super(`Configuration:\n  ${[...new Set(problems)].join('\n  ')}`)
  }
}

/** Reads settings from an environment and collects every problem, so that an operator sees all at once. */
export class EnvReader {
  readonly #env: Env
  readonly #prefix: string
  readonly #problems: string[] = []
  readonly #known = new Set<string>()

  /** `prefix` (such as `GATEWAY_`) marks the variables that are ours: an unknown one is a typo and a problem. */
  constructor(env: Env, prefix: string) {
    this.#env = env
    this.#prefix = prefix
  }

  text(name: string, fallback?: string): string {
    const value = this.#raw(name) ?? fallback
    if (value === undefined) this.#problems.push(`${this.#prefix}${name} is not set`)
    return value ?? ''
  }

  optionalText(name: string): string | undefined {
    return this.#raw(name)
  }

  /** The value itself, or the content of the file named by `<NAME>_FILE` (`<name>_file`), without the trailing newline. */
  secret(name: string): string {
    const named = fileSetting(name)
    const file = this.#raw(named)
    if (file === undefined) return this.text(name)
    this.#known.add(`${this.#prefix}${name}`)
    try {
      return readFileSync(file, 'utf8').trimEnd()
    } catch (error) {
      this.#problems.push(`${this.#prefix}${named}: ${(error as Error).message}`)
      return ''
    }
  }

  /** As `secret`, of a form that `parse` accepts: it throws an error whose message has none of the value. */
  secretOf(name: string, parse: (value: string) => unknown): string {
    const value = this.secret(name)
    try {
      if (value !== '') parse(value)
    } catch (error) {
      this.#problems.push(`${this.#prefix}${name}: ${(error as Error).message}`)
    }
    return value
  }

  /** As `secret`; undefined where neither is set. */
  optionalSecret(name: string): string | undefined {
    return this.#isSecretSet(name) ? this.secret(name) : undefined
  }

  /** As `secretOf`; undefined where neither is set. */
  optionalSecretOf(name: string, parse: (value: string) => unknown): string | undefined {
    return this.#isSecretSet(name) ? this.secretOf(name, parse) : undefined
  }

  integer(name: string, fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER): number {
    const raw = this.#raw(name)
    if (raw === undefined) return fallback
    const value = Number(raw)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    this.#problems.push(`${this.#prefix}${name}: ${raw} is not an integer from ${min} to ${max}`)
    return fallback
  }

  number(name: string, fallback: number, min = -Infinity, max = Infinity): number {
    const raw = this.#raw(name)
    if (raw === undefined) return fallback
    const value = Number(raw)
    if (Number.isFinite(value) && value >= min && value <= max) return value
    const bounds = Number.isFinite(min) ? ` from ${min} to ${max}` : ''
    this.#problems.push(`${this.#prefix}${name}: ${raw} is not a number${bounds}`)
    return fallback
  }

  boolean(name: string, fallback: boolean): boolean {
    const raw = this.#raw(name)
    if (raw === undefined) return fallback
    if (raw === 'true' || raw === 'false') return raw === 'true'
    this.#problems.push(`${this.#prefix}${name}: ${raw} is neither true nor false`)
    return fallback
  }

  /** Without a fallback the setting must be there. */
  choice<const T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const raw = this.#raw(name) ?? fallback
    const hit = choices.find((choice) => choice === raw)
    if (hit === undefined)
      this.#problems.push(
        `${this.#prefix}${name}: ${raw ?? 'nothing'} is none of ${choices.join(', ')}`,
      )
    return hit ?? (choices[0] as T)
  }

  list(name: string, fallback: readonly string[] = []): readonly string[] {
    const raw = this.#raw(name)
    if (raw === undefined) return fallback
    return raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  }

  /**
   * One URL of these schemes, or several with commas between them and no spaces. WebSockets are not mixed with other
   * schemes; addresses of the bus itself have no path.
   */
  urls(name: string, schemes: readonly string[]): string {
    return this.#checkedUrls(name, schemes, this.text(name))
  }

  /** As `urls`; undefined where it is not set. */
  optionalUrls(name: string, schemes: readonly string[]): string | undefined {
    const raw = this.#raw(name)
    return raw === undefined ? undefined : this.#checkedUrls(name, schemes, raw)
  }

  /** A setting that others know and that can have no effect: it is a problem, with the reason and what to do. */
  refuse(name: string, reason: string): void {
    if (this.#raw(name) !== undefined) this.#problems.push(`${this.#prefix}${name}: ${reason}`)
  }

  /** Throws one error naming every problem met, unknown variables of our prefix included. */
  finish(): void {
    const unknown = Object.keys(this.#env).filter(
      (name) => name.startsWith(this.#prefix) && !this.#known.has(name),
    )
    const problems = [...this.#problems, ...unknown.map((name) => this.#unknown(name))]
    if (problems.length > 0) throw new SettingsError(problems)
  }

  #isSecretSet(name: string): boolean {
    return this.#raw(name) !== undefined || this.#raw(fileSetting(name)) !== undefined
  }

  #checkedUrls(name: string, schemes: readonly string[], raw: string): string {
    const urls = raw.split(',').map((each) => each.trim())
    for (const url of raw === '' ? [] : urls) {
      const reason = urlProblem(url, schemes)
      if (reason !== undefined) this.#problems.push(`${this.#prefix}${name}: '${url}' ${reason}`)
    }
    if (new Set(urls.map((url) => url.startsWith('ws'))).size > 1)
      this.#problems.push(
        `${this.#prefix}${name}: WebSockets and other addresses cannot be mixed; give one kind`,
      )
    return urls.join(',')
  }

  #unknown(name: string): string {
    const nearest = nearestName(name, this.#known)
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
    return `${name} is not a known setting${hint}`
  }

  #raw(name: string): string | undefined {
    const full = `${this.#prefix}${name}`
    this.#known.add(full)
    const value = this.#env[full]
    return value === '' ? undefined : value
  }
}

function urlProblem(text: string, schemes: readonly string[]): string | undefined {
  const url = URL.parse(text)
  const known = schemes.map((scheme) => `${scheme}://`).join(' or ')
  if (url === null || url.hostname === '' || !schemes.includes(url.protocol.slice(0, -1)))
    return `is not an address; give ${known} with a host and a port, several with commas between them`
  const isPlain = url.search === '' && url.hash === '' && url.username === ''
  const mayHavePath = /^(?:ws|http)s?:$/.test(url.protocol)
  if (isPlain && (mayHavePath || url.pathname === '' || url.pathname === '/')) return undefined
  return `may have a scheme, a host and a port${mayHavePath ? ' and a path' : ''} only`
}

/** The setting that names a file to read another from, spelled as that one. */
function fileSetting(name: string): string {
  return `${name}${name === name.toLowerCase() ? '_file' : '_FILE'}`
}
