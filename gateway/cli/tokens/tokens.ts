import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { age } from '../output/age.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

export interface TokenOptions extends ViewOptions {
  /** Absent: the cell itself joins. */
  readonly host?: string
  /** The cell, or the host, is there already. */
  readonly renew?: true
  /** In seconds. */
  readonly expires?: number
}

/** Afterwards there is a token, and the line is shown that has to be run where the cell, or the host, is to be. */
export async function createToken(
  operator: Operator,
  cell: string,
  options: TokenOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { expires, host, renew } = options
    const created = await federation.ask('post', '/v1/tokens', {
      body: {
        cell,
        ...(host === undefined ? {} : { host }),
        ...(renew === true ? { renew } : {}),
        ...(expires === undefined ? {} : { expires_in_s: expires }),
      },
    })
    const { token, join_token } = created
    if (token === null) throw new Failure('internal', 'The gateway’s answer has no token.')
    const what = host === undefined ? 'cell' : 'host'
    const line = `WEIR_JOIN_TOKEN=${token} ./weir ${what} join --gateway ${join_token.gateway}`
    const where =
      renew === true
        ? `in the directory of ${what} ${host ?? cell}`
        : `on the machine of the new ${what}`
    operator.err.write(
      `Run this ${where}, before ${join_token.expires_at}; it is not shown again:\n`,
    )
    return { data: created, names: [token], text: () => `${line}\n` }
  })
}

export async function listTokens(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { tokens } = await federation.ask('get', '/v1/tokens')
    return listView(tokens, tokenListing(Date.now()))
  })
}

/** Afterwards the token of this id is refused. Cells and hosts that joined with it stay. */
export async function revokeToken(
  operator: Operator,
  id: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/tokens/{token}', { path: { token: id } })
  operator.err.write(`Token ${id} is revoked.\n`)
}

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
        emphasis: (token) => (tokenState(token, now) === 'open' ? 'success' : 'muted'),
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
