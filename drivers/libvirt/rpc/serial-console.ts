import type { Duplex } from 'node:stream'
import type { LibvirtAddress } from '../uri.ts'
import { RpcConnection } from './connection.ts'
import { PROCEDURES } from './procedures.ts'
import type { DomainRef } from './refs.ts'
import { XdrWriter } from './xdr-writer.ts'

/** virDomainConsoleFlags: another client that has the console open loses it. */
const CONSOLE_FORCE = 1

/**
 * The first serial console of a domain, on a connection of its own: a client that does not read holds up nothing
 * else, and hanging up is closing the connection.
 */
export async function openSerialConsole(
  address: LibvirtAddress,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<Duplex> {
  const connection = await RpcConnection.open(address.dial, () => {}, { responseTimeoutMs: null })
  try {
    await connection.call(PROCEDURES.authList, Buffer.alloc(0), signal)
    const open = new XdrWriter().optionalText(address.driverUri).uint(0)
    await connection.call(PROCEDURES.connectOpen, open.bytes(), signal)
    const args = new XdrWriter().domain(domain).optionalText(null).uint(CONSOLE_FORCE)
    return await connection.openStream(PROCEDURES.domainOpenConsole, args.bytes(), signal)
  } catch (error) {
    connection[Symbol.dispose]()
    throw error
  }
}
