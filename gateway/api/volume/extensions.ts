import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import type { Handler } from '../../http/operation.ts'
import { extensionViews } from '../../views/volume/extensions.ts'

/** GET /v3/extensions */
export const listExtensions: Handler<operations['listExtensions']> = async () => {
  return { body: { extensions: extensionViews } }
}

/** GET /v3/extensions/{alias} */
export const showExtension: Handler<operations['showExtension']> = async ({ params }) => {
  const extension = extensionViews.find(({ alias }) => alias === params.alias)
  if (extension === undefined)
    throw new Failure('not-found', `There is no extension ${params.alias}.`)
  return { body: { extension } }
}
