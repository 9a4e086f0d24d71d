import { errorChain } from '#common/errors.ts'
import { layoutIn } from '../deployment/layout.ts'
import { DeploymentBusy, lockDeployment } from '../deployment/lock.ts'
import { loadState } from '../deployment/state.ts'
import { bringUp } from '../up/up.ts'
import { EXIT_BUSY } from './supervise.ts'

// Starts what does not run, as `./weir up` does, for the supervisor. Its last line says why it failed.
const layout = layoutIn()
try {
  using _lock = lockDeployment(layout, 'supervisor')
  if (loadState(layout)?.isReady === true)
    await bringUp(layout, {}, (line) => process.stdout.write(`${line}\n`))
} catch (error) {
  process.stderr.write(`${errorChain(error).replaceAll('\n', ' ')}\n`)
  process.exitCode = error instanceof DeploymentBusy ? EXIT_BUSY : 1
}
