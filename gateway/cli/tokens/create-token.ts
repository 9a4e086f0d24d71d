import { Failure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'

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
    if (token === null) throw new Failure('internal', 'The gateway has not told the token.')
    const what = host === undefined ? 'cell' : 'host'
    const line = `WEIR_JOIN_TOKEN=${token} ./weir ${what} join --gateway ${join_token.gateway}`
    const where =
      renew === true
        ? `in the folder of ${what} ${host ?? cell}`
        : `on the machine of the new ${what}`
    operator.err.write(
      `Run this ${where}, before ${join_token.expires_at}; it is not shown again:\n`,
    )
    return { data: created, names: [token], text: () => `${line}\n` }
  })
}
