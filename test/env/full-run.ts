/** True under `./weir test --all`: long searches, real peers and every combination instead of a sample. */
export const isFullRun = process.env['WEIR_TEST_ALL'] === '1'
