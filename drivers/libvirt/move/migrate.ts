import { RpcConnection } from '../rpc/connection.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import { greet } from '../session.ts'
import type { LibvirtAddress } from '../uri.ts'

/** Guests with much memory that changes fast, over a slow line: an operator ends it before. */
const TIMEOUT_MS = 24 * 3_600_000

/** virDomainMigrateFlags. */
const LIVE = 1
const PEER2PEER = 2
const PERSIST_DEST = 8
const NON_SHARED_DISK = 64
const AUTO_CONVERGE = 1 << 13
const TLS = 1 << 16

export interface Migration {
  /** How the domain's daemon reaches the other one. */
  readonly uri: string
  /** The domain as the other host has it. */
  readonly xml: string
  /** Where the guest's memory and disks go, as libvirt's URIs; without them the daemons settle it. */
  readonly memoryUri?: string
  readonly disksUri?: string
  readonly isEncrypted: boolean
}

/**
 * Afterwards the guest, with its disks' content, is on the other daemon. It takes a connection of its own: the call
 * is answered at the end of the migration. Throws `conflict` when the job was aborted, `unavailable` when the outcome
 * is unknown.
 */
export async function migrate(
  address: LibvirtAddress,
  domain: DomainRef,
  { uri, xml, memoryUri, disksUri, isEncrypted }: Migration,
): Promise<void> {
  using connection = await RpcConnection.open(address.dial, () => {}, {
    callTimeoutMs: TIMEOUT_MS,
  })
  await greet(connection, address.driverUri)
  const parameters = {
    destination_xml: xml,
    persistent_xml: xml,
    ...(memoryUri !== undefined && { migrate_uri: memoryUri }),
    ...(disksUri !== undefined && { disks_uri: disksUri }),
  }
  const always = LIVE | PEER2PEER | PERSIST_DEST | NON_SHARED_DISK | AUTO_CONVERGE
  const args = new XdrWriter().domain(domain).optionalText(uri).textParameters(parameters)
  // No cookie: that is for callers that drive the phases themselves.
  args.uint(0).uint(isEncrypted ? always | TLS : always)
  await connection.call(PROCEDURES.domainMigratePerform3Params, args.bytes())
}
