import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorView } from '../../../views/flavor.ts'
import { flavorPage } from './flavor-page.ts'

export const listFlavorsDetail: Handler<operations['listFlavorsDetail']> = async (call) => ({
  body: await flavorPage(call, (flavor) => flavorView(flavor, call.context, call.links)),
})
