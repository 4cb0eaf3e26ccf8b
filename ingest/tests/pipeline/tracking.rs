mod archived;
mod clicks;
mod clocks;
mod funnel;
mod leads;
mod legacy;
mod tracker_script;
mod visitors;
