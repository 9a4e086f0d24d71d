import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../http/operation.ts'
import { extensionViews } from '../../views/extensions.ts'

const listExtensions: Handler<operations['listExtensions']> = async () => {
  return { body: { extensions: extensionViews } }
}

const showExtension: Handler<operations['showExtension']> = async ({ params }) => {
  const extension = extensionViews.find(({ alias }) => alias === params.alias)
  if (extension === undefined)
    throw new Failure('not-found', `There is no extension ${params.alias}.`)
  return { body: { extension } }
}

export const extensionHandlers = { listExtensions, showExtension }
