import type { JoinTokenRecord } from '../../db/join-tokens.ts'

/** A join token as the federation API shows it: never its secret. */
export function joinTokenView(token: JoinTokenRecord, gateway: string) {
  return {
    id: token.id,
    cell: token.cellName,
    cell_id: token.cellId,
    host: token.hostName,
    host_id: token.hostId,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt.toISOString(),
    used_at: token.usedAt?.toISOString() ?? null,
    gateway,
  }
}
