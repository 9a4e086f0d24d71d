import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from './client.ts'

/** An operation of the federation API as tests read it. */
export interface Operation {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly remaining: number | null
  readonly message: string | null
  readonly is_cancellable: boolean
  readonly servers?: readonly string[]
  readonly moves?: readonly OperationMove[]
}

/** What an operation has done about a server. */
export interface OperationMove {
  readonly server_id: string
  readonly state: string
  readonly method: string | null
  readonly tries: number
  readonly reason: string | null
}

const LIMIT_MS = 60_000

export async function showOperation(admin: ApiClient, id: string): Promise<Operation> {
  return (await admin.get<Operation>(`/federation/v1/operations/${id}`)).body
}

/** Resolves with the operation once that holds for it. */
export function untilOperation(
  admin: ApiClient,
  id: string,
  is: (operation: Operation) => boolean,
  limitMs = LIMIT_MS,
): Promise<Operation> {
  return waitFor(
    `operation ${id}`,
    async () => {
      const operation = await showOperation(admin, id)
      return is(operation) ? operation : undefined
    },
    limitMs,
  )
}

/** Resolves with the operation once it has ended. */
export function endOfOperation(
  admin: ApiClient,
  id: string,
  limitMs = LIMIT_MS,
): Promise<Operation> {
  return untilOperation(admin, id, ({ state }) => state !== 'running', limitMs)
}
