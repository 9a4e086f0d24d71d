import { join } from 'node:path'
import { cellAccount } from '#gateway/bus/accounts.ts'
import type { Layout } from '../deployment/layout.ts'
import type { CellRecord } from '../deployment/state.ts'
import type { Uplink } from '../nats/nats-config.ts'

export const UPLINK_CREDENTIALS = 'uplink.creds'

/** The JWT that the gateway signed, with its private key. */
export function uplinkCredentialsFile(layout: Layout): string {
  return join(layout.secrets, UPLINK_CREDENTIALS)
}

/** The gateway's certificate; there only where the join token named it. */
export function certificateFile(layout: Layout): string {
  return join(layout.secrets, 'gateway.crt')
}

/** How the bus of a cell reaches that of its deployment: it dials, and nothing listens for the other side. */
export function uplinkOf(layout: Layout, cell: CellRecord): Uplink {
  const { publicKey } = cell.account
  return {
    credentialsFile: uplinkCredentialsFile(layout),
    account: { publicKey, claims: cellAccount(cell.id) },
  }
}
