import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { CloudsBelow } from '../downstream.ts'
import type { Cloud } from './cloud/cloud.ts'

const Depth = Type.Object({
  depth: Type.Integer({ minimum: 0 }),
  is_whole: Type.Boolean(),
})

/**
 * The clouds below this one, itself included, for a question that came through these cells. A cloud that is no Weir, or too
 * old to be asked, is the last. Throws `conflict` where one of them has such a cell: they form a ring.
 */
export async function cloudsBelow(
  cloud: Cloud,
  via: readonly string[],
  signal: AbortSignal,
): Promise<CloudsBelow> {
  try {
    const { body } = await cloud.ask(Depth, 'federation', 'GET', '/depth', { via, signal })
    return { depth: 1 + body.depth, isWhole: body.is_whole }
  } catch (error) {
    if (isFailure(error, 'unsupported') || isFailure(error, 'not-found'))
      return { depth: 1, isWhole: true }
    if (!isFailure(error, 'conflict')) throw error
    const { detail } = error
    throw new Failure('conflict', 'The clouds below lead back here: they form a ring.', {
      ...(detail === undefined ? {} : { detail }),
      cause: error,
    })
  }
}
