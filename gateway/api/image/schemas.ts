import type { operations } from '#openapi/image.gen.ts'
import { HttpRefusal } from '../../http/http-refusal.ts'
import type { Handler } from '../../http/operation.ts'
import { schemaNamed } from '../../views/image/schemas.ts'

/** GET /v2/schemas/{schema_name} */
export const showSchema: Handler<operations['showSchema']> = async ({ params }) => {
  const body = schemaNamed(params.schema_name)
  if (body === undefined) throw new HttpRefusal(404, `There is no schema ${params.schema_name}.`)
  return { body }
}
