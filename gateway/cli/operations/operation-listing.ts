import type { components } from '#openapi/federation.gen.ts'
import { age } from '../output/age.ts'
import type { Emphasis } from '../output/style.ts'
import type { Listing } from '../output/view.ts'

export type Operation = components['schemas']['Operation']

const EMPHASES: Readonly<Record<Operation['state'], Emphasis>> = {
  running: 'warning',
  done: 'success',
  failed: 'error',
  cancelled: 'muted',
}

/** How operations are shown at an instant. */
export function operationListing(now: number): Listing<Operation> {
  return {
    plural: 'operations',
    nameOf: ({ id }) => id,
    columns: [
      { head: 'ID', of: ({ id }) => id },
      { head: 'KIND', of: ({ kind }) => kind },
      { head: 'SUBJECT', of: ({ subject }) => subject },
      { head: 'CELL', of: ({ cell }) => cell },
      { head: 'STATE', of: ({ state }) => state, emphasis: ({ state }) => EMPHASES[state] },
      {
        head: 'REMAINING',
        of: ({ remaining, total }) => (remaining === null ? null : `${remaining}/${total ?? '-'}`),
      },
      { head: 'AGE', of: ({ started_at }) => age(started_at, now) },
      { head: 'MESSAGE', of: ({ message }) => message },
      { head: 'ENDED', of: ({ ended_at }) => ended_at, isWide: true },
      { head: 'USER', of: ({ user_id }) => user_id, isWide: true },
      { head: 'REQUEST', of: ({ request_id }) => request_id, isWide: true },
      {
        head: 'ESTIMATED END',
        of: ({ estimated_end_at }) => estimated_end_at ?? null,
        isWide: true,
      },
      { head: 'SERVERS LEFT', of: ({ servers }) => servers?.join(',') ?? null, isWide: true },
    ],
  }
}

type ServerMove = components['schemas']['ServerMove']

const MOVE_EMPHASES: Readonly<Record<ServerMove['state'], Emphasis>> = {
  waiting: 'warning',
  moving: 'warning',
  moved: 'success',
  gone: 'muted',
}

/** How the moves of a drain are shown at an instant. */
export function moveListing(now: number): Listing<ServerMove> {
  return {
    plural: 'moves',
    nameOf: ({ server_id }) => server_id,
    columns: [
      { head: 'SERVER', of: ({ name, server_id }) => name ?? server_id },
      { head: 'STATE', of: ({ state }) => state, emphasis: ({ state }) => MOVE_EMPHASES[state] },
      { head: 'METHOD', of: ({ method }) => method },
      { head: 'TRIES', of: ({ tries }) => tries },
      { head: 'AGE', of: ({ started_at }) => (started_at === null ? null : age(started_at, now)) },
      { head: 'REASON', of: ({ reason }) => reason },
      { head: 'ID', of: ({ server_id }) => server_id, isWide: true },
    ],
  }
}
