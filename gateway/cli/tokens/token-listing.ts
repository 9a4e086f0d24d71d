import type { components } from '#openapi/federation.gen.ts'
import { age } from '../output/age.ts'
import type { Listing } from '../output/view.ts'

export type JoinToken = components['schemas']['JoinToken']

/** How join tokens are shown at an instant. */
export function tokenListing(now: number): Listing<JoinToken> {
  return {
    plural: 'join tokens',
    nameOf: ({ id }) => id,
    columns: [
      { head: 'CELL', of: ({ cell }) => cell },
      { head: 'HOST', of: ({ host }) => host },
      {
        head: 'STATE',
        of: (token) => tokenState(token, now),
        tone: (token) => (tokenState(token, now) === 'open' ? 'good' : 'dim'),
      },
      { head: 'EXPIRES', of: ({ expires_at }) => expires_at },
      { head: 'AGE', of: ({ created_at }) => age(created_at, now) },
      { head: 'ID', of: ({ id }) => id },
      { head: 'USED', of: ({ used_at }) => used_at, isWide: true },
      { head: 'GATEWAY', of: ({ gateway }) => gateway, isWide: true },
    ],
  }
}

function tokenState({ used_at, expires_at }: JoinToken, now: number): string {
  if (used_at !== null) return 'used'
  return Date.parse(expires_at) <= now ? 'expired' : 'open'
}
