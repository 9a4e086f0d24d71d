import type { operations } from '#openapi/compute.gen.ts'
import { showHost as show } from '../../../app/hosts/show-host.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostUseView } from '../../../views/host.ts'

export const showHost: Handler<operations['showHost']> = async ({ app, params }) => ({
  body: { host: hostUseView(await show(app.db, params.host_name)) },
})
