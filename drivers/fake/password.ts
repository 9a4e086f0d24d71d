import { Failure } from '#common/errors.ts'
import type { Password } from '../password.ts'
import type { FakeHost } from './host.ts'

/** Only tells on the console that it was set: a guest that never runs needs none. */
export function fakePassword(host: FakeHost): Password {
  return {
    set: (id, _password, signal) =>
      host.change('setPassword', id, signal, () => {
        if (host.guests.get(id).powerState !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so no agent in it listens.`)
        host.setPower(id, 'running', 'password changed')
      }),
  }
}
