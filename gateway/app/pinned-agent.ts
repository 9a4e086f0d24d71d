import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Agent } from 'undici'
import { Failure } from '#common/errors.ts'

const CONNECT_TIMEOUT_MS = 10_000

/**
 * What connects to the server of a URL that a user chose. Its name is resolved once, `check` sees every address, and
 * connections go to these addresses alone, even if the name resolves to others a moment later. Throws what `check`
 * throws, and `invalid` for a name without addresses.
 */
export async function pinnedAgent(url: URL, check: (address: string) => void): Promise<Agent> {
  const addresses = await resolve(bareHost(url))
  for (const { address } of addresses) check(address)
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

/** The host of a URL without the brackets of IPv6. */
export function bareHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

async function resolve(host: string): Promise<{ address: string; family: number }[]> {
  if (isIP(host) !== 0) return [{ address: host, family: isIP(host) }]
  try {
    return await lookup(host, { all: true })
  } catch (error) {
    throw new Failure('invalid', `The host ${host} cannot be found.`, { cause: error })
  }
}
