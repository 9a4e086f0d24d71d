import { installFastResolver } from '#common/install-fast-resolver.ts'

installFastResolver()
const { run } = await import('./run.ts')
await run(process.env)
