import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { setMetadata } from '../../../app/servers/server-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateServerMetadataItem: Handler<operations['updateServerMetadataItem']> = async (
  call,
) => {
  const { app, context, params, body } = call
  const { meta } = body
  if (!Object.hasOwn(meta, params.key))
    throw new Failure('invalid', 'Request body and URI mismatch: meta must hold the key of the URI')
  await setMetadata(app.db, context, params.server_id, { items: meta, keep: true })
  return { body: { meta } }
}
