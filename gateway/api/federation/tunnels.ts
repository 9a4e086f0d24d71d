import { Failure, isFailure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import { type TunnelTest, testTunnels as test } from '../../app/cells/test-tunnels.ts'
import { reachable } from '../../app/hosts/host-state.ts'
import type { Handler } from '../../http/operation.ts'

/** POST /v1/cells/{cell}/tunnel-tests */
export const testTunnels: Handler<operations['testTunnels']> = async (call) => {
  const { app, context, params, body } = call
  const { cells } = app.compute
  const one = await findOperatedCell(app.db, cells, params.cell)
  const other = await findOperatedCell(app.db, cells, body.cell).catch((error: unknown) => {
    throw isFailure(error, 'not-found') ? new Failure('invalid', error.message) : error
  })
  const both = [reachable(one.reported), reachable(other.reported)] as const
  const tests = await test(app.compute, context, both, app.networks.mtuMax)
  return { body: { tests: tests.map(testView) } }
}

function testView({ packetBytes, ...test }: TunnelTest) {
  return { ...test, packet_bytes: packetBytes }
}
