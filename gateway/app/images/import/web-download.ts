import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Agent, request } from 'undici'
import { Failure } from '#common/errors.ts'
import { bareHost, checkImportAddress, checkImportUrl, type ImportRules } from './import-url.ts'

const REDIRECTS_MAX = 5
const CONNECT_TIMEOUT_MS = 10_000
const RESPONSE_TIMEOUT_MS = 60_000

/** A remote content on its way. Disposing it ends the connection. */
export interface Download extends AsyncDisposable {
  readonly body: AsyncIterable<Uint8Array>
  readonly declaredBytes: number | undefined
}

/**
 * Downloads from a URL. A name is resolved once, all its addresses are checked, and connections go only to them; a
 * redirect starts a new request, without any headers of the first one. Throws `invalid` for every failure, because the
 * user chose the server.
 */
export async function download(
  text: string,
  rules: ImportRules,
  signal: AbortSignal,
): Promise<Download> {
  let target = text
  for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
    const answer = await ask(checkImportUrl(target, rules), rules, signal)
    if (answer.location === undefined) return answer
    await answer[Symbol.asyncDispose]()
    target = answer.location
  }
  throw new Failure('invalid', `The image's server redirects more than ${REDIRECTS_MAX} times.`)
}

interface Answer extends Download {
  /** Where to ask instead. */
  readonly location: string | undefined
}

async function ask(url: URL, rules: ImportRules, signal: AbortSignal): Promise<Answer> {
  const dispatcher = await pinnedAgent(bareHost(url), rules)
  const close = () => dispatcher.destroy()
  try {
    const headers = { 'user-agent': 'weir', 'accept-encoding': 'identity' }
    const {
      statusCode,
      headers: answered,
      body,
    } = await request(url.href, {
      dispatcher,
      headers,
      signal,
      headersTimeout: RESPONSE_TIMEOUT_MS,
      bodyTimeout: RESPONSE_TIMEOUT_MS,
    })
    const location = redirectOf(statusCode, answered['location'], url)
    if (location === undefined && statusCode !== 200)
      throw new Failure('invalid', `The image's server answered ${statusCode}.`)
    const length = Number(answered['content-length'] ?? Number.NaN)
    return {
      location,
      body,
      declaredBytes: Number.isSafeInteger(length) ? length : undefined,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    if (error instanceof Failure) throw error
    throw new Failure('invalid', "The image's server cannot be read from.", { cause: error })
  }
}

function redirectOf(status: number, location: unknown, from: URL): string | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  const to = typeof location === 'string' ? URL.parse(location, from.href) : null
  if (to === null) throw new Failure('invalid', `The image's server answered ${status}.`)
  return to.href
}

/** Connections go to the checked addresses, even if the name resolves to others a moment later. */
async function pinnedAgent(host: string, rules: ImportRules): Promise<Agent> {
  const addresses = await resolve(host)
  for (const { address } of addresses) checkImportAddress(address, rules)
  return new Agent({
    connections: 1,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      lookup: (_name, options, done) => {
        if (options.all === true) done(null, addresses)
        else done(null, addresses[0]!.address, addresses[0]!.family)
      },
    },
  })
}

async function resolve(host: string): Promise<{ address: string; family: number }[]> {
  if (isIP(host) !== 0) return [{ address: host, family: isIP(host) }]
  try {
    return await lookup(host, { all: true })
  } catch (error) {
    throw new Failure('invalid', `The host ${host} cannot be found.`, { cause: error })
  }
}
