import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import { showType } from '../../app/volumes/types.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v3/types/{type_id}/encryption: as Cinder answers for a type whose volumes are not encrypted. */
const showTypeEncryption: Handler<operations['showTypeEncryption']> = async (call) => {
  await showType(call.app.db, call.context, call.params.type_id)
  return { body: {} }
}

/** POST /v3/types/{type_id}/encryption */
const createTypeEncryption: Handler<operations['createTypeEncryption']> = async (call) => {
  await showType(call.app.db, call.context, call.params.type_id)
  throw new Failure(
    'invalid',
    'Volumes cannot be encrypted here: there is no service that keeps their keys.',
  )
}

/** GET, PUT and DELETE /v3/types/{type_id}/encryption/{key} */
const noEncryption: Handler<operations['showTypeEncryptionKey']> = async (call) => {
  const { type_id } = call.params
  await showType(call.app.db, call.context, type_id)
  throw new Failure('not-found', `Volume type encryption for type ${type_id} does not exist.`)
}

export const typeEncryptionHandlers = {
  createTypeEncryption,
  deleteTypeEncryption: noEncryption,
  showTypeEncryption,
  showTypeEncryptionKey: noEncryption,
  updateTypeEncryption: noEncryption,
}
