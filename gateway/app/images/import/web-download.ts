import { request } from 'undici'
import { Failure } from '#common/errors.ts'
import { pinnedAgent } from '../../pinned-agent.ts'
import { checkImportAddress, checkImportUrl, type ImportRules } from './import-url.ts'

const REDIRECTS_MAX = 5
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
  const dispatcher = await pinnedAgent(url, (address) => checkImportAddress(address, rules))
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
